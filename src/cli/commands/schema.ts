/** `holdfast schema`: options. */
import type { Register } from '../command.ts'

export const registerSchema: Register = (program, end) => {
  program
    .command('schema')
    .argument('[of]', 'config, status, events or webhook', 'config')
    .description('JSON Schema of the configuration, of what /v1/status and /v1/events answer, or of a webhook')
    .action(async (of: string) => {
      const { schemaCommand } = await import('../schema.ts')
      end(schemaCommand(of))
    })
}
