/** `holdfast events`: options. */
import { EXIT } from '../../app/exit-code.ts'
import { type Register, socketOption } from '../command.ts'

type Options = { socket: string; file?: string; json?: boolean; since?: string; follow?: boolean }

export const registerEvents: Register = (program, end) => {
  program
    .command('events')
    .description('list the events of this node, the oldest first; also while the daemon is down')
    .addOption(socketOption())
    .option(
      '--file <path>',
      'event journal to read if the daemon does not answer (default: events.jsonl beside the socket)',
    )
    .option(
      '--since <time>',
      'only later events: a duration such as 12h or 30m, or a time such as 2026-11-22T03:00:00Z',
    )
    .option('-f, --follow', 'also print new events as they happen')
    .option('--json', 'print one JSON object per line')
    .action(async ({ socket, file, json = false, since, follow = false }: Options) => {
      const { eventsCommand, followEvents } = await import('../explain/events.ts')
      const listed = await eventsCommand({ socket, file, json, since })
      end(listed)
      if (!follow || listed.exitCode === EXIT.usage) return
      const closed = new AbortController()
      // The program that reads standard output has closed the pipe.
      process.stdout.once('error', () => closed.abort())
      await followEvents({ socket, json }, listed.latest, (text) => process.stdout.write(text), closed.signal)
    })
}
