/** Events of the process itself: start, end, crash, restart and upgrade. */
import * as z from 'zod'
import { event, moment, router } from './event-shape.ts'

/** Start of the daemon. */
export const started = event('started', {
  pid: z.int(),
  hostname: z.string(),
  version: z.string(),
  config: z.string(),
  guardian: z.boolean(),
})

/** Restart of the engine by its guardian after a crash. The addresses of `routers` have stayed on this node. */
export const engineRestarted = event('engineRestarted', {
  routers: z.array(router),
  tookMs: z.number(),
  restarts: z.int(),
})

/** Dry run of the next engine has passed, and this engine orders the guardian to replace it. */
export const upgradeOrdered = event('upgradeOrdered', {})

/** Replacement of the engine by another one (`holdfast upgrade`). The addresses of `routers` have stayed on this node. */
export const engineUpgraded = event('engineUpgraded', {
  routers: z.array(router),
  tookMs: z.number(),
  from: z.string().describe('Version of the engine that was replaced'),
  to: z.string().describe('Version of this engine'),
})

/** End of the previous run, according to its journal. */
export const earlierLife = event('earlierLife', {
  ended: z.enum(['cleanly', 'abruptly']),
  pid: z.int().optional(),
  lastSeq: z.int(),
  lastAt: moment,
})

export const stopOrdered = event('stopOrdered', { trigger: z.string() })
export const stopped = event('stopped', {})

/** Crash of the engine by a bug. The guardian of the engine has removed the addresses before this event. */
export const crashed = event('crashed', {
  error: z.string().describe('First line of the uncaught exception'),
  code: z.string().optional().describe('Code of the exception, such as EMFILE'),
})
export const guardianLost = event('guardianLost', { silentMs: z.number().optional() })
