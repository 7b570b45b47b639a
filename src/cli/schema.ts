/**
 * `holdfast schema`: prints the JSON Schemas of the configuration, for editors, and of the answers of the API. The JSON
 * Schemas are generated from the schemas that `run` and the API use.
 */

import * as z from 'zod'
import { EXIT } from '../app/exit-code.ts'
import { refusedValue } from '../base/refused-value.ts'
import { jsonSchema } from '../config/config.ts'
import { eventPageSchema, webhookBodySchema } from '../events/event-page.ts'
import { statusSchema } from '../http/status-schema.ts'
import type { CommandResult } from './command.ts'

// The schemas of JSON output allow unknown fields, because a later version may add fields.
const open = { io: 'input' } as const

const SCHEMAS: Readonly<Record<string, () => object>> = {
  config: () => ({ ...jsonSchema(), title: 'holdfast configuration' }),
  status: () => ({ ...z.toJSONSchema(statusSchema, open), title: 'holdfast /v1/status' }),
  events: () => ({ ...z.toJSONSchema(eventPageSchema, open), title: 'holdfast /v1/events' }),
  webhook: () => ({ ...z.toJSONSchema(webhookBodySchema, open), title: 'holdfast webhook' }),
}

export const SCHEMA_NAMES = Object.keys(SCHEMAS)

export function schemaCommand(name: string): CommandResult {
  const schema = Object.hasOwn(SCHEMAS, name) ? SCHEMAS[name]?.() : undefined
  if (schema !== undefined) return { exitCode: EXIT.ok, stdout: `${JSON.stringify(schema, null, 2)}\n`, stderr: '' }
  const stderr = `holdfast: ${refusedValue('name of a schema', name, `one of ${SCHEMA_NAMES.join(', ')}`)}\n`
  return { exitCode: EXIT.usage, stdout: '', stderr }
}
