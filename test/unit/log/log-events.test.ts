/** Every line of the log has an event of a table, every event of the tables is logged, and docs/log-events.md has them all. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { describe, expect, test } from 'vitest'
import { AGENT_LOG } from '../../../src/log/agent-events.ts'
import { DNS_LOG } from '../../../src/log/dns-events.ts'
import { GUARDIAN_EVENTS } from '../../../src/log/guardian-events.ts'
import { LOG } from '../../../src/log/log.ts'
import type { LogEvent } from '../../../src/log/log-event.ts'
import { NODE_EVENTS } from '../../../src/log/node-events.ts'
import { OPERATOR_EVENTS } from '../../../src/log/operator-events.ts'
import { ROUTER_EVENTS } from '../../../src/log/router-events.ts'
import { expectPart, markdownTable } from '../../support/generated-document.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const SRC = join(ROOT, 'src')

type Table = Readonly<Record<string, LogEvent>>

const filesBelow = (folder: string, ending: RegExp): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => join(folder, name))
const SOURCES = filesBelow(SRC, /\.ts$/).filter((file) => !file.startsWith(join(SRC, 'log')))

type Use = { readonly table: string; readonly code: string; readonly isLogged: boolean; readonly where: string }

/**
 * Returns each use of a table in a source: `LOG.transition`, or `LOG[event]` as `*`. A use is logged if the event is an
 * argument of a call, also through `condition ? LOG.one : LOG.other`, through a variable, or in a list of arguments.
 */
function usesIn(file: string): readonly Use[] {
  const found: Use[] = []
  const visit = (node: unknown, isLogged: boolean): void => {
    if (Array.isArray(node)) for (const each of node) visit(each, isLogged)
    if (typeof node !== 'object' || node === null || !('type' in node)) return
    const { type } = node
    const get = (key: string): unknown => Reflect.get(node, key)
    // A type is no use.
    if (String(type).startsWith('TS') && type !== 'TSAsExpression') return
    if (type === 'MemberExpression' && isTable(get('object'))) {
      const table = nameOf(get('object'))
      const code = get('computed') === true ? '*' : nameOf(get('property'))
      found.push({ table, code, isLogged, where: relative(ROOT, file) })
      return
    }
    if (type === 'CallExpression') {
      visit(get('callee'), false)
      visit(get('arguments'), true)
    } else if (type === 'VariableDeclarator') visit(get('init'), true)
    else if (type === 'ConditionalExpression') {
      visit(get('test'), false)
      visit([get('consequent'), get('alternate')], isLogged)
    } else for (const value of Object.values(node)) visit(value, false)
  }
  visit(parseAst(readFileSync(file, 'utf8'), { lang: 'ts' }).body, false)
  return found
}

const nameOf = (node: unknown): string =>
  typeof node === 'object' && node !== null && 'name' in node ? String(node.name) : ''
const isTable = (node: unknown): boolean => ['LOG', 'AGENT_LOG', 'DNS_LOG'].includes(nameOf(node))

const USES = SOURCES.flatMap(usesIn)
const loggedCodes = (table: string) =>
  new Set(USES.flatMap((use) => (use.table === table && use.isLogged ? [use.code] : [])))

describe('events of the engine and of the agent', () => {
  // The types of `log` and `logLimited` refuse a call without an event of the table.
  test('are logged, every one of them', () => {
    // The guardian's end in the engine names its faults by code, and run.ts logs them.
    const channel = filesBelow(join(SRC, 'linux', 'guardian'), /\.ts$/).map((file) => readFileSync(file, 'utf8'))
    const faults = [...channel.join('').matchAll(/onFault\(\{\s*event: '(\w+)'/g)].map(([, code = '']) => code)
    const logged = new Set([...loggedCodes('LOG'), ...faults])
    expect(Object.keys(LOG).filter((code) => !logged.has(code))).toEqual([])
    expect(Object.keys(AGENT_LOG).filter((code) => !loggedCodes('AGENT_LOG').has(code))).toEqual([])
    expect(Object.keys(DNS_LOG).filter((code) => !loggedCodes('DNS_LOG').has(code))).toEqual([])
  })

  test('are looked up by a variable at one place, for the faults of the guardian', () => {
    expect(USES.filter(({ code }) => code === '*').map(({ where }) => where)).toEqual(['src/app/run.ts'])
  })

  test('are the only lines: no other file makes a line of the log', () => {
    const makers = SOURCES.filter((file) => /\bnew LogLines\(|\bpino\(/.test(readFileSync(file, 'utf8')))
    expect(makers.map((file) => relative(SRC, file)).sort()).toEqual([
      'app/log/log-lines.ts',
      'app/log/log.ts',
      'cli/agent/agent-log.ts',
    ])
    const consoles = SOURCES.filter((file) => /\bconsole\.\w+\(/.test(readFileSync(file, 'utf8')))
    expect(consoles.map((file) => relative(SRC, file))).toEqual([])
  })

  test('have another code each', () => {
    const codes = [...Object.keys(NODE_EVENTS), ...Object.keys(ROUTER_EVENTS)]
    expect(codes.length).toBe(new Set(codes).size)
  })
})

describe('events of the guardian', () => {
  const folder = join(ROOT, 'native')
  const sources = filesBelow(folder, /\.c$/).map((file) => ({
    name: relative(folder, file),
    text: readFileSync(file, 'utf8').replace(/\/\*.*?\*\//gs, ''),
  }))
  const guardian = sources.filter(({ name }) => name.startsWith('guardian/') && name !== 'guardian/log.c')
  const lines = guardian.flatMap(({ name, text }) =>
    [...text.matchAll(/\b(?:begin_line\(&line|log_message\((?=LOG)),?\s*([^;]*?),\s*("\w+"|\w+)\s*,/g)].map(
      ([, level = '', event = '']) => ({ name, level, event }),
    ),
  )

  test('are in the C sources with the levels of the table, and no line has another event', () => {
    const calls = guardian.reduce((sum, { text }) => sum + text.split(/\bbegin_line\(|\blog_message\(/).length - 1, 0)
    expect(lines.length, 'calls that log').toBe(calls)
    const levels = { LOG_INFO: 'info', LOG_WARN: 'warn', LOG_ERROR: 'error' } as Readonly<Record<string, string>>
    const wanted = Object.values<LogEvent>(GUARDIAN_EVENTS).map(({ code, level, or }) => [code, [level, or]] as const)
    const found = new Map<string, Set<string>>()
    for (const { event, level } of lines) {
      const set = found.get(event) ?? new Set()
      for (const [name] of level.matchAll(/LOG_\w+/g)) set.add(levels[name] ?? name)
      found.set(event, set)
    }
    expect(new Map([...found].map(([event, set]) => [event, [...set].sort()]))).toEqual(
      new Map(wanted.map(([code, both]) => [`"${code}"`, both.flatMap((each) => each ?? []).sort()])),
    )
  })

  test('have every field that the C sources append', () => {
    const text = guardian.map((source) => source.text).join('')
    const appended = [...text.matchAll(/,\\"(?!msg)(\w+)\\":|append_string\(&?line, "(\w+)"/g)].map(
      ([, a, b]) => a ?? b,
    )
    const named = new Set(Object.values<LogEvent>(GUARDIAN_EVENTS).flatMap(({ fields }) => fields))
    expect(new Set([...appended, 'syscall', 'code'])).toEqual(named)
  })

  test('are the only lines of the C programs: launcher and addon write none, the others are commands', () => {
    const others = sources.filter(({ name }) => !name.startsWith('guardian/'))
    const printing = others.filter(({ text }) => /\b(?:fprintf|fputs|dprintf|perror|syslog)\s*\(/.test(text))
    expect(printing.map(({ name }) => name).sort()).toEqual([
      'common/instrument.c',
      'health.c',
      'launcher/main.c',
      'probe/main.c',
    ])
    const launcher = others.find(({ name }) => name === 'launcher/main.c')?.text ?? ''
    expect(
      [...launcher.matchAll(/\bfprintf\(stderr, "(\w+)/g)].map(([, word]) => word),
      'its usage',
    ).toEqual(['usage'])
  })
})

const row = ({ act, code, fields, level, means, or }: LogEvent): readonly string[] => [
  `\`${code}\``,
  or === undefined ? level : `${level}, ${or}`,
  fields.map((name) => `\`${name}\``).join(', '),
  means,
  act === undefined ? '–' : act,
]

const agentAlone = Object.fromEntries(
  Object.entries<LogEvent>(AGENT_LOG).filter(([code]) => !(code in OPERATOR_EVENTS)),
)

test.each<[string, Table, string?]>([
  ['routers', ROUTER_EVENTS],
  ['daemon', NODE_EVENTS],
  ['guardian', GUARDIAN_EVENTS],
  ['agent', agentAlone],
  ['dns', DNS_LOG],
  ['operator', OPERATOR_EVENTS, 'operator.md'],
])('docs has the events of: %s', (part, table, page = 'log-events.md') => {
  const rows = Object.values(table).map(row)
  const sorted = rows.toSorted(([a = ''], [b = '']) => a.localeCompare(b))
  expectPart(page, part, markdownTable(['event', 'level', 'fields', 'meaning', 'what to do'], sorted))
})
