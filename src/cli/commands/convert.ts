/** `holdfast convert`: options. */
import type { Register } from '../command.ts'

export const registerConvert: Register = (program, end) => {
  program
    .command('convert')
    .description("print a keepalived file as holdfast's YAML, and what was not carried over; exit 0 or 78")
    .argument('<file>', 'keepalived.conf, or one like it')
    .option('-i, --config-id <name>', 'what @name lines are compared with (default: the host name)')
    .action(async (file: string, { configId }: { configId?: string }) => {
      const { convertCommand } = await import('../convert.ts')
      end(await convertCommand(file, configId))
    })
}
