/**
 * Writes the log of the agent to standard output, in the formats of the engine's log (docs/adr/0080). Without a given
 * format the log is `text`, also in a pipe. A slow reader loses lines, but never delays the agent (log-output.ts).
 */
import { formatOf, LogLines } from '../../app/log/log-lines.ts'
import { LogOutput } from '../../app/log/log-output.ts'
import type { LogFormat } from '../../config/config.ts'
import type { AgentLogging } from '../../log/agent-events.ts'

export type AgentLog = {
  readonly log: AgentLogging
  /** Turns debug lines of the agent's log on or off. */
  verbose(on: boolean): void
  /** Resolves when all log lines are written, or after a short time. */
  flush(): Promise<void>
}

const FLUSH_LIMIT = 200

/**
 * Opens the log of the agent. Without `format`, the format is `journald` if the output is the systemd journal,
 * otherwise `text`.
 */
export function openAgentLog(
  format: LogFormat | undefined,
  isVerbose: boolean,
  { descriptor = 1, name = 'holdfast-agent' }: { readonly descriptor?: number; readonly name?: string } = {},
): AgentLog {
  let lost = 0
  const output = new LogOutput(descriptor, () => lost++)
  const lines = new LogLines(name, output, descriptor)
  lines.setFormat(format ?? (formatOf(descriptor) === 'journald' ? 'journald' : 'text'))
  let verbose = isVerbose
  return {
    log({ code, level }, message, fields) {
      if (level === 'debug' && !verbose) return
      const withLosses = lost === 0 ? { ...fields } : { ...fields, linesLost: lost }
      lines.write({ time: Date.now(), level, event: code, message, fields: withLosses })
    },
    verbose(on) {
      verbose = on || isVerbose
    },
    flush: () => output.flush(FLUSH_LIMIT),
  }
}
