/** Random templates, executed with fixed data: each gives a text or a TemplateError, and nothing else. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { render } from '../../src/template/render.ts'
import { TemplateError } from '../../src/template/template-error.ts'
import { forAll } from '../support/for-all.ts'
import { goTemplates } from '../support/go-templates.ts'
import { templateTexts } from '../support/template-texts.ts'

const { data } = goTemplates()

/** Returns what became of a template; any error but a TemplateError is thrown again. */
function outcome(template: string): 'text' | TemplateError {
  try {
    render(template, data)
    return 'text'
  } catch (error) {
    if (error instanceof TemplateError) return error
    throw error
  }
}

test('a random template gives a text, or an error whose place is in the template', () => {
  const outcomes = { text: 0, error: 0 }
  forAll(2000, [templateTexts], (template) => {
    const result = outcome(template)
    outcomes[result === 'text' ? 'text' : 'error'] += 1
    if (result === 'text') return
    const line = template.split('\n')[result.line - 1]
    expect(line, `${result.message} in ${JSON.stringify(template)}`).toBeDefined()
    expect(result.column, `${result.message} in ${JSON.stringify(template)}`).toBeLessThanOrEqual(
      (line?.length ?? 0) + 1,
    )
  })
  expect(outcomes.text, 'random templates that can be executed').toBeGreaterThan(200)
  expect(outcomes.error, 'random templates that are refused').toBeGreaterThan(200)
})

test('a random text gives a text, or a TemplateError', () => {
  forAll(2000, [fc.string({ unit: 'binary' })], (text) => {
    outcome(text)
    outcome(`{{${text}}}`)
  })
})
