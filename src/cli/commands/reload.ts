/** `holdfast reload`: options. */
import { type Register, socketOption } from '../command.ts'

type Options = { socket: string; dryRun?: boolean; json?: boolean }

export const registerReload: Register = (program, end) => {
  program
    .command('reload')
    .description(
      'make the daemon read its configuration again; if the new configuration is invalid, exit 78 and keep the old one in force',
    )
    .addOption(socketOption())
    .option('--dry-run', 'only show what would change')
    .option('--json', 'print JSON')
    .action(async ({ dryRun = false, json = false, socket }: Options) => {
      const { reloadCommand } = await import('../reload.ts')
      end(await reloadCommand(socket, { json, dryRun }))
    })
}
