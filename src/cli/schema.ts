/** `holdfast schema`: the JSON Schema of the configuration, for editors. It is the schema that `run` uses. */
import { jsonSchema } from '../config/config.ts'
import type { CommandResult } from './check.ts'

export function schemaCommand(): CommandResult {
  const schema = { ...jsonSchema(), title: 'holdfast configuration' }
  return { exitCode: 0, stdout: `${JSON.stringify(schema, null, 2)}\n`, stderr: '' }
}
