/** `holdfast explain`: options. */
import { type Register, repeated, socketOption, usage } from '../command.ts'

type Options = {
  socket: string
  file?: string
  recording?: string
  verify?: boolean
  since?: string
  peer?: string[]
  askPeers?: boolean
  json?: boolean
}

export const registerExplain: Register = (program, end) => {
  program
    .command('explain')
    .description('explain why an address moved, from the event journals of this node and of its peers')
    .argument('[router]', 'name of a virtual router or sync group; without a name, all virtual routers')
    .addOption(socketOption())
    .option(
      '--file <path>',
      'event journal to read if the daemon does not answer (default: events.jsonl beside the socket)',
    )
    .option(
      '--recording <file>',
      'replay a recording of holdfast run --record instead of the journal; reports whether the engine does the same again',
    )
    .option('--verify', 'with --recording: only report whether the engine does the same; exit 1 if not')
    .option(
      '--since <time>',
      'only later events: a duration such as 12h or 30m, or a time such as 2026-11-22T03:00:00Z (default: 12h, or a whole recording)',
    )
    .option(
      '--peer <url>',
      'also use the journal of another node: URL of its API, its run directory, or a copy of its journal or recording; may be repeated',
      repeated,
    )
    .option('--no-ask-peers', 'do not contact the nodes of api.peers in the configuration')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExit status: 0 ok, 64 usage or unknown name, 69 neither a daemon nor a journal.')
    .action(async (router: string | undefined, options: Options) => {
      const { askPeers: asksPeers = true, file, json = false, peer: peers = [] } = options
      const { recording, since, socket, verify = false } = options
      if (verify && recording === undefined) return end(usage('--verify goes with --recording'))
      const { explainCommand } = await import('../explain/explain.ts')
      end(await explainCommand({ router, socket, file, recording, verify, since, peers, asksPeers, json }))
    })
}
