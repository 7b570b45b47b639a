/**
 * What the agent says, on standard output: lines for people, or JSON lines as the engine's. A reader that stops costs lines,
 * never time (log-output.ts).
 */
import { pino } from 'pino'
import { LogOutput } from '../../app/log/log-output.ts'
import type { Level } from '../../cluster/runtime/agent.ts'

export type AgentLog = {
  log(level: Level, message: string, fields?: Readonly<Record<string, unknown>>): void
  /** Debug lines as well. */
  verbose(on: boolean): void
  /** Resolves when all was taken, or after a moment. */
  flush(): Promise<void>
}

const FLUSH_LIMIT = 200

export function openAgentLog(json: boolean, isVerbose: boolean): AgentLog {
  let lost = 0
  const output = new LogOutput(1, () => lost++)
  const logger = pino({ level: 'debug', base: { name: 'holdfast-agent', pid: process.pid } }, output)
  let verbose = isVerbose
  return {
    log(level, message, fields = {}) {
      if (level === 'debug' && !verbose) return
      const told = lost === 0 ? fields : { ...fields, linesLost: lost }
      if (json) logger[level](told, message)
      else output.write(`${new Date().toISOString()} ${level.padEnd(5)} ${message}${inWords(told)}\n`)
    },
    verbose(on) {
      verbose = on || isVerbose
    },
    flush: () => output.flush(FLUSH_LIMIT),
  }
}

const inWords = (fields: Readonly<Record<string, unknown>>): string =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .map((word) => ` ${word}`)
    .join('')
