/** `holdfast status`: options. */
import { type Register, socketOption } from '../command.ts'

type Options = { socket: string; json?: boolean; askPeers: boolean }

export const registerStatus: Register = (program, end) => {
  program
    .command('status')
    .description('show which node holds each address, and why')
    .argument('[router]', 'name of a virtual router or sync group; without a name, all virtual routers')
    .addOption(socketOption())
    .option('--no-ask-peers', 'do not contact the nodes of api.peers in the configuration')
    .option('--json', 'print JSON')
    .action(async (router: string | undefined, { askPeers: asksPeers, json = false, socket }: Options) => {
      const { statusCommand } = await import('../status/status.ts')
      end(await statusCommand(socket, { router, json, asksPeers }))
    })
}
