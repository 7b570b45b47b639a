/** `holdfast events`: options. */
import { EXIT } from '../../app/exit-code.ts'
import { type Register, socketOption } from '../command.ts'

type Options = { socket: string; file?: string; json?: boolean; since?: string; follow?: boolean }

export const registerEvents: Register = (program, end) => {
  program
    .command('events')
    .description('what has happened on this node, the oldest first; also when the daemon is down')
    .addOption(socketOption())
    .option('--file <path>', 'the journal, when the daemon does not answer (default: events.jsonl beside the socket)')
    .option('--since <time>', 'not what is older: 12h, 30m, or a moment like 2026-11-22T03:00:00Z')
    .option('-f, --follow', 'go on with what happens')
    .option('--json', 'one JSON object a line')
    .action(async ({ socket, file, json = false, since, follow = false }: Options) => {
      const { eventsCommand, followEvents } = await import('../explain/events.ts')
      const listed = await eventsCommand({ socket, file, json, since })
      end(listed)
      if (!follow || listed.exitCode === EXIT.usage) return
      const closed = new AbortController()
      // The reader of standard output has gone.
      process.stdout.once('error', () => closed.abort())
      await followEvents({ socket, json }, listed.latest, (text) => process.stdout.write(text), closed.signal)
    })
}
