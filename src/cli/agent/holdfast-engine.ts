/**
 * holdfast's own engine as the agent meets it: by its control socket. Decided here: what of its status says in which mode it
 * is, and what of its answers is a refusal. Refuses to know what is handed over, and when.
 */

import type { Desired } from '../../cluster/decisions/engine/desired.ts'
import { documentText } from '../../cluster/decisions/engine/document.ts'
import type { EngineDoor, EngineSight, HandedOver } from '../../cluster/runtime/engine-door.ts'
import { ask, listen } from '../../files/control-client.ts'
import { handOver } from '../configure.ts'

const WITHIN = 5_000
const WHO = 'holdfast agent'
/** As desired-state.ts names them. */
const INGRESS = /_INGRESS_\d+$/

export function holdfastEngine(socket: string, options: { readonly native: boolean }): EngineDoor {
  return {
    async look() {
      const { status, body } = await ask(socket, { path: '/v1/status', within: WITHIN })
      if (status !== 200) throw new Error(`the engine at ${socket} answered ${status}`)
      return sightIn(body)
    },
    async handOver(desired: Desired): Promise<HandedOver> {
      const { status, body } = await handOver(socket, documentText(desired, options), { by: WHO })
      return status === 200 ? { accepted: true } : refusalIn(status, body)
    },
    async gone(signal) {
      // Its events are not for us: the stream lasts as long as the engine does.
      await listen(socket, '/v1/events', () => {}, signal)
      return 'it has closed its control socket'
    },
    close() {},
  }
}

function sightIn(body: string): EngineSight {
  const { routers } = fieldsOf(JSON.parse(body))
  const all: readonly unknown[] = Array.isArray(routers) ? routers : []
  const { transport } = fieldsOf(all[0])
  if (typeof transport !== 'string') return { configured: false, mode: undefined, ingress: false }
  const ingress = all.map(fieldsOf).some(({ name, departing }) => INGRESS.test(String(name)) && departing !== true)
  return { configured: true, mode: transport.startsWith('multicast') ? 'multicast' : 'unicast', ingress }
}

/** live-configuration.ts says whether it has judged it. */
export function refusalIn(status: number, body: string): HandedOver {
  try {
    const { problems, fault, reason } = fieldsOf(JSON.parse(body))
    const failed = fault === 'failed'
    if (Array.isArray(problems) && problems.length > 0) {
      const words = problems.map((problem: unknown) => String(fieldsOf(problem).message ?? JSON.stringify(problem)))
      return { accepted: false, problems: words, failed }
    }
    if (typeof reason === 'string') return { accepted: false, problems: [reason], failed }
  } catch {
    // Words, then.
  }
  return { accepted: false, problems: [`${body.trim()} (${status})`] }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
