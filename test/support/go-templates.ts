/** The templates of test/samples/templates, with what Go's text/template makes of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Structure } from '../../src/template/value.ts'

const SAMPLE = join(import.meta.dirname, '../samples/templates/go-text-template.json')

const Case = z.object({
  template: z.string(),
  output: z.string().optional(),
  refused: z.boolean().optional(),
  outside: z.boolean().optional(),
})
const Sample = z.object({ data: z.custom<Structure>((value) => typeof value === 'object'), cases: z.array(Case) })

/** Returns the data of the templates, and the cases. */
export const goTemplates = (): z.infer<typeof Sample> => Sample.parse(JSON.parse(readFileSync(SAMPLE, 'utf8')))
