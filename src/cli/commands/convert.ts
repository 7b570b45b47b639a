/** `holdfast convert`: options. */
import type { Register } from '../command.ts'

export const registerConvert: Register = (program, end) => {
  program
    .command('convert')
    .description(
      "print a keepalived file as holdfast's YAML, with a comment for each keyword that is not carried over; exit 0 or 78",
    )
    .argument('<file>', 'a keepalived configuration file')
    .option('-i, --config-id <name>', 'name that selects the @name lines of the file (default: the host name)')
    .action(async (file: string, { configId }: { configId?: string }) => {
      const { convertCommand } = await import('../convert.ts')
      end(await convertCommand(file, configId))
    })
}
