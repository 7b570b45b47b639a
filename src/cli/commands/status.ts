/** `holdfast status`: options. */
import { type Register, socketOption } from '../command.ts'

type Options = { socket: string; json?: boolean; askPeers: boolean }

export const registerStatus: Register = (program, end) => {
  program
    .command('status')
    .description('who holds the addresses, and why')
    .argument('[router]', 'name of a virtual router or sync group; without one, all of them')
    .addOption(socketOption())
    .option('--no-ask-peers', 'do not ask the nodes of api.peers in the configuration')
    .option('--json', 'as JSON')
    .action(async (router: string | undefined, { askPeers: asksPeers, json = false, socket }: Options) => {
      const { statusCommand } = await import('../status/status.ts')
      end(await statusCommand(socket, { router, json, asksPeers }))
    })
}
