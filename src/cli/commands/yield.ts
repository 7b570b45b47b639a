/** `holdfast yield`: options. */
import { Option } from 'commander'
import { type Register, socketOption } from '../command.ts'

type Options = { socket: string; all?: boolean; cancel?: boolean; for: string }

export const registerYield: Register = (program, end) => {
  program
    .command('yield')
    .description('release the addresses to another node and keep priority 1 for --for; repeat to change the duration')
    .argument('[router]', 'name of a virtual router or sync group; a sync group moves as a whole')
    .addOption(socketOption())
    .option('--all', 'all routers that are Active here')
    .addOption(new Option('--cancel', 'end a yield now; without a name, all yields of this node').conflicts('for'))
    .option('--for <duration>', 'time with priority 1, such as 90s, 10m or 2h', '60s')
    .addHelpText(
      'after',
      '\nExit status: 0 another node took over, 1 no node took over or the router is not Active here, 64 usage, 69 no daemon.',
    )
    .action(async (router: string | undefined, { socket, ...options }: Options) => {
      const { yieldCommand } = await import('../yield.ts')
      end(await yieldCommand(socket, { router, ...options }))
    })
}
