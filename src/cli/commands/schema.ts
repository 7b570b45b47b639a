/** `holdfast schema`: options. */
import type { Register } from '../command.ts'

export const registerSchema: Register = (program, end) => {
  program
    .command('schema')
    .argument('[of]', 'config, status, events or webhook', 'config')
    .description(
      'print the JSON Schema of the configuration, of the answers of /v1/status or /v1/events, or of a webhook',
    )
    .action(async (of: string) => {
      const { schemaCommand } = await import('../schema.ts')
      end(schemaCommand(of))
    })
}
