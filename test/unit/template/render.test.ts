/** The template engine compared with Go's text/template, and its own limits. */
import { describe, expect, test } from 'vitest'
import { render } from '../../../src/template/render.ts'
import { TemplateError } from '../../../src/template/template-error.ts'
import { goTemplates } from '../../support/go-templates.ts'

const { data, cases } = goTemplates()
const shown = (template: string) => JSON.stringify(template)

function errorOf(template: string): TemplateError {
  try {
    const text = render(template, data)
    throw new Error(`${shown(template)} gave ${JSON.stringify(text)}, expected a TemplateError`)
  } catch (error) {
    if (error instanceof TemplateError) return error
    throw error
  }
}

describe("templates and what Go's text/template makes of them", () => {
  test('each template that Go executes gives the same text', () => {
    const executed = cases.flatMap(({ template, output }) => (output === undefined ? [] : { template, output }))
    expect(executed.length).toBeGreaterThan(100)
    for (const { template, output } of executed) expect(render(template, data), shown(template)).toBe(output)
  })

  test('each template that Go refuses is refused', () => {
    const refused = cases.filter((each) => each.refused === true)
    expect(refused.length).toBeGreaterThan(70)
    for (const { template } of refused) expect(errorOf(template).reason, shown(template)).not.toBe('')
  })

  test('each template outside the subset is refused instead of guessed', () => {
    const outside = cases.filter((each) => each.outside === true)
    expect(outside.length).toBeGreaterThan(5)
    for (const { template } of outside) expect(errorOf(template).reason, shown(template)).not.toBe('')
  })
})

describe('the error of a template', () => {
  test.each([
    ['a\n  {{.Missing}}', 2, 5, /^cannot use field Missing, expected Name, Empty, /],
    ['{{template "x"}}', 1, 3, /^cannot use "template", expected if, with, range,/],
    ['{{ define "x" }}{{end}}', 1, 4, /^cannot use "define"/],
    ['{{html .Name}}', 1, 3, /^cannot use function html, expected and, or, not, eq,/],
    ['ä {{ 1.5 }}', 1, 6, /^cannot use "1.5", expected a decimal integer$/],
    ['{{ 010 }}', 1, 4, /^cannot use "010", expected a decimal integer$/],
    ['{{printf "%5d" .Count}}', 1, 3, /^printf: cannot use "%5", expected %s, %d, %q, %v, %t or %%$/],
    ['{{printf "%d" .Name}}', 1, 3, /^printf: cannot use a string for %d$/],
    ['{{printf "%s"}}', 1, 3, /^printf: the format needs an argument for %s$/],
    ['{{printf "x" 1}}', 1, 3, /^printf: the format uses 0 of 1 arguments$/],
    ['{{range .Name}}{{end}}', 1, 9, /^cannot range over a string, expected a list$/],
    ['{{range 3}}{{end}}', 1, 9, /^cannot range over a number, expected a list$/],
    ['{{eq .Name 3}}', 1, 3, /^eq: cannot compare a string with a number$/],
    ['{{if .Yes}}\n{{range .Peers}}{{end}}', 1, 3, /^cannot use if without end$/],
    ['{{.Name', 1, 1, /^cannot use "{{" without "}}"$/],
    ['{{.constructor}}', 1, 3, /^cannot use field constructor, expected Name/],
  ])('%j has its line, its column and its reason', (template, line, column, reason) => {
    const error = errorOf(template)
    expect({ line: error.line, column: error.column }).toEqual({ line, column })
    expect(error.reason).toMatch(reason)
    expect(error.message).toBe(`line ${line}, column ${column}: ${error.reason}`)
  })
})

describe('the limits of a template', () => {
  test('parentheses and statements can be nested a hundred times, and not more', () => {
    const nested = (depth: number) => `{{${'('.repeat(depth)}1${')'.repeat(depth)}}}`
    expect(render(nested(100), data)).toBe('1')
    expect(errorOf(nested(101)).reason).toBe('nested too deep, expected at most 100 levels')
    const ifs = (depth: number) => `${'{{if .Yes}}'.repeat(depth)}x${'{{end}}'.repeat(depth)}`
    expect(render(ifs(100), data)).toBe('x')
    expect(errorOf(ifs(101)).reason).toBe('nested too deep, expected at most 100 levels')
  })

  test('a template that would take hours is refused after a million steps', () => {
    const depth = 30
    const template = `${'{{range $.Peers}}'.repeat(depth)}{{.}}${'{{end}}'.repeat(depth)}`
    expect(errorOf(template).reason).toMatch(/^too much work, expected at most 1000000/)
  })
})
