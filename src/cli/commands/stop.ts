/** `holdfast stop` and `holdfast upgrade`: options. */
import { type Register, socketOption } from '../command.ts'

export const registerStop: Register = (program, end) => {
  program
    .command('stop')
    .description('hand the addresses over and stop the daemon, as SIGTERM does; returns when the daemon has stopped')
    .addOption(socketOption())
    .action(async ({ socket }: { socket: string }) => {
      const { stopCommand } = await import('../stop.ts')
      end(await stopCommand(socket))
    })
}

export const registerUpgrade: Register = (program, end) => {
  program
    .command('upgrade')
    .description(
      'replace the running engine by the program on the disk, without a move of its addresses (lease: on); first tries whether the new program could take over',
    )
    .addOption(socketOption())
    .action(async ({ socket }: { socket: string }) => {
      const { upgradeCommand } = await import('../upgrade.ts')
      end(await upgradeCommand(socket))
    })
}
