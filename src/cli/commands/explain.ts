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
    .description('why an address moved: the events of this node, and of those that are named, as a story')
    .argument('[router]', 'name of a virtual router or sync group; without one, all of them')
    .addOption(socketOption())
    .option('--file <path>', 'the journal, when the daemon does not answer (default: events.jsonl beside the socket)')
    .option(
      '--recording <file>',
      'what holdfast run --record has written, replayed, instead of the journal; says whether the engine does the same again',
    )
    .option('--verify', 'with --recording: only that; exit 1 when it does something else')
    .option(
      '--since <time>',
      'not what is older: 12h, 30m, or a moment like 2026-11-22T03:00:00Z (default: 12h; all of a recording)',
    )
    .option(
      '--peer <url>',
      'another node as well: URL of its API, its run directory, or a copy of its journal or recording; may be repeated',
      repeated,
    )
    .option('--no-ask-peers', 'do not ask the nodes of api.peers in the configuration')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExit status: 0 told, 64 usage or no such name, 69 neither a daemon nor a journal.')
    .action(async (router: string | undefined, options: Options) => {
      const { askPeers: asksPeers = true, file, json = false, peer: peers = [] } = options
      const { recording, since, socket, verify = false } = options
      if (verify && recording === undefined) return end(usage('--verify goes with --recording'))
      const { explainCommand } = await import('../explain/explain.ts')
      end(await explainCommand({ router, socket, file, recording, verify, since, peers, asksPeers, json }))
    })
}
