/** `holdfast stop`: options. */
import { type Register, socketOption } from '../command.ts'

export const registerStop: Register = (program, end) => {
  program
    .command('stop')
    .description('hand the addresses over and stop the daemon, as SIGTERM does; returns when it has stopped')
    .addOption(socketOption())
    .action(async ({ socket }: { socket: string }) => {
      const { stopCommand } = await import('../stop.ts')
      end(await stopCommand(socket))
    })
}
