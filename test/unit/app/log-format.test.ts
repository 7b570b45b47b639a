/** Log records as lines: their parts in order, and that no value becomes anything but a value. */
import { describe, expect, test } from 'vitest'
import { journalJson } from '../../../src/app/log/journal-limit.ts'
import {
  journaldLine,
  LEVELS,
  type LogLine,
  localTime,
  painted,
  safeJson,
  textLine,
} from '../../../src/app/log/log-format.ts'
import type { LogLevel } from '../../../src/log/log-event.ts'

const AT = Date.UTC(2026, 10, 24, 20, 49, 1, 7)

const text = (message: string, fields: LogLine['fields'] = {}, level: LogLevel = 'info') =>
  textLine({ time: AT, level, event: 'transition', message, fields })
/** What follows time and level. */
const said = (message: string, fields: LogLine['fields'] = {}) =>
  journaldLine({ time: AT, level: 'info', event: 'transition', message, fields })

describe('the time of a line', () => {
  test.each([
    [60, '2026-11-24T21:49:01.007+01:00'],
    [0, '2026-11-24T20:49:01.007+00:00'],
    [-210, '2026-11-24T17:19:01.007-03:30'],
    [825, '2026-11-25T10:34:01.007+13:45'],
  ])('%d minutes east of UTC is %s', (offset, expected) => {
    expect(localTime(AT, offset)).toBe(expected)
    expect(Date.parse(localTime(AT, offset)), 'the same moment').toBe(AT)
  })

  test('is the local one, at each millisecond and in each second', () => {
    for (const at of [AT, AT + 1, AT + 992, AT + 993, AT - 8, AT + 0.7]) {
      const [time] = textLine({ time: at, level: 'info', event: 'transition', message: 'x', fields: {} }).split(' ')
      expect(time).toBe(localTime(Math.floor(at)))
      expect(Date.parse(time ?? '')).toBe(Math.floor(at))
    }
    expect(localTime(AT)).toBe(localTime(AT, -new Date(AT).getTimezoneOffset()))
  })
})

describe('a line of text', () => {
  test('has time, level, message, event and fields in this order', () => {
    const line = text('api: Backup → Active: activeSilent', { router: 'api', vrid: 51, from: 'Backup' }, 'warn')
    expect(line).toBe(
      `${localTime(AT)} WARN  api: Backup → Active: activeSilent event=transition vrid=51 from=Backup\n`,
    )
  })

  test('has its router before the message where the message does not begin with it', () => {
    expect(said('duplicate holder', { router: 'api' })).toBe('<6>INFO  api: duplicate holder event=transition\n')
    expect(said('api (web): duplicate holder', { router: 'api' })).toBe(
      '<6>INFO  api (web): duplicate holder event=transition\n',
    )
    expect(said('apis: duplicate holder', { router: 'api' })).toBe(
      '<6>INFO  api: apis: duplicate holder event=transition\n',
    )
  })

  test.each<[unknown, string]>([
    ['10.0.0.12', '10.0.0.12'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['http://10.0.0.12:9655/x', 'http://10.0.0.12:9655/x'],
    ['', '""'],
    ['two words', '"two words"'],
    ['a=b', '"a=b"'],
    ['say "no"', String.raw`"say \"no\""`],
    [12.5, '12.5'],
    [false, 'false'],
    [null, 'null'],
    [10n, '10'],
    [['a', 1], '["a",1]'],
    [{ a: { b: 'c' } }, '{"a":{"b":"c"}}'],
  ])('writes the value %o as %s', (value, expected) =>
    expect(said('x', { value })).toBe(`<6>INFO  x event=transition value=${expected}\n`),
  )

  test('leaves a field without a value out', () => {
    expect(said('x', { peer: undefined, code: 'ENODEV' })).toBe('<6>INFO  x event=transition code=ENODEV\n')
  })

  test('survives a value that no JSON can have', () => {
    const value: Record<string, unknown> = {}
    value.value = value
    expect(said('x', { value })).toMatch(/^<6>INFO {2}x event=transition value="no JSON: .*"\n$/)
  })

  test('has a color at its level alone, on a terminal', () => {
    const record = { time: AT, level: 'error', event: 'transition', message: 'x', fields: {} } as const
    expect(textLine(record, painted)).toBe(`${localTime(AT)} \u001b[1;31mERROR\u001b[0m x event=transition\n`)
  })
})

test.each<[LogLevel, string, number]>([
  ['error', '<3>ERROR x event=transition\n', 50],
  ['warn', '<4>WARN  x event=transition\n', 40],
  ['info', '<6>INFO  x event=transition\n', 30],
  ['debug', '<7>DEBUG x event=transition\n', 20],
])('a record with the level %s has its priority of syslog for the journal', (level, line, number) => {
  expect(journaldLine({ time: AT, level, event: 'transition', message: 'x', fields: {} })).toBe(line)
  expect(LEVELS[level].pino).toBe(number)
})

/** What a peer, a check's answer or a file could try to have in a value. */
const HOSTILE = [
  ['a line feed', '\n'],
  ['a carriage return', '\r'],
  ['both, and a record of its own', '\r\n<0>holdfast: api: Active → Backup'],
  ['NUL', '\0'],
  ['a tabulator', '\t'],
  ['a backspace', '\b\b\b\b'],
  ['an escape sequence', '\u001b[2J\u001b[1;1H'],
  ['an escape sequence of 8 bits', '\u009b2J'],
  ['an operating system command', '\u001b]0;title\u0007'],
  ['DEL', '\u007f'],
  ['the next line of C1', '\u0085'],
  ['the line separator', '\u2028'],
  ['the paragraph separator', '\u2029'],
  ['an override of the direction', '\u202eevitca'],
  ['an isolate', '\u2066x\u2069'],
  ['an invisible character', 'a\u200bb\ufeff'],
  ['an invisible character of two units', '\u{e0041}'],
  ['a half of a character', '\ud800'],
] as const

/** What no line may have but its own end: controls, ends of lines, invisible characters. */
const STEERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

describe.each(HOSTILE)('%s', (_, hostile) => {
  const record: LogLine = {
    time: AT,
    level: 'warn',
    event: 'packetDiscarded',
    message: `Discarded ${hostile}.`,
    fields: { router: `api${hostile}`, value: hostile, nested: { [`key${hostile}`]: [hostile] }, [`x${hostile}`]: 1 },
  }

  test.each([
    ['text', textLine(record)],
    ['journald', journaldLine(record)],
  ])('stays in its value in %s', (_format, line) => {
    expect(line.endsWith('\n')).toBe(true)
    expect(STEERS.exec(line.slice(0, -1)), JSON.stringify(line)).toBeNull()
  })

  test('stays in its value in JSON, and is read back', () => {
    const line = safeJson(JSON.stringify(record.fields))
    expect(STEERS.exec(line), line).toBeNull()
    expect(JSON.parse(line)).toEqual(record.fields)
  })
})

test('every character that steers is escaped in JSON', () => {
  const missed: string[] = []
  for (let point = 0x7f; point <= 0x10ffff; point++) {
    const character = String.fromCodePoint(point)
    if (STEERS.test(character) && safeJson(character) === character) missed.push(point.toString(16))
  }
  expect(missed).toEqual([])
})

test('a value cannot look like a field: its quotes are escaped', () => {
  const line = said('x', { said: 'down" router="other' })
  expect(line.trimEnd()).toBe(String.raw`<6>INFO  x event=transition said="down\" router=\"other"`)
})

test('a line that is longer than the journal takes is cut, so that its rest is no record with a priority of its own', () => {
  const line = said('x', { said: '<0>'.repeat(20_000) })
  expect(Buffer.byteLength(line)).toBeLessThan(48 * 1024)
  expect(line).toMatch(/… \(\d+ more characters\)\n$/)
  const wide = said('x', { said: '€'.repeat(60_000) })
  expect(Buffer.byteLength(wide)).toBeLessThan(48 * 1024)
})

describe('a line of JSON for the journal', () => {
  const common = { level: 40, time: AT, pid: 1, name: 'holdfast' }
  const lineOf = (fields: object) => safeJson(`${JSON.stringify({ ...common, ...fields })}\n`)
  const LONGEST = 48 * 1024 - 1

  test('is unchanged up to 48 KiB', () => {
    const most = 'x'.repeat(LONGEST - lineOf({ reason: '', msg: 'm' }).length)
    const line = lineOf({ reason: most, msg: 'm' })
    expect(Buffer.byteLength(line)).toBe(LONGEST)
    expect(journalJson(line)).toBe(line)
  })

  test.each<[string, object]>([
    ['one long text', { reason: '<0>'.repeat(20_000), router: 'api', msg: 'm' }],
    [
      'one octet too many',
      {
        reason: 'x'.repeat(LONGEST + 1 - lineOf({ reason: '', router: 'api', msg: 'm' }).length),
        router: 'api',
        msg: 'm',
      },
    ],
    ['a long message', { router: 'api', msg: '€'.repeat(20_000) }],
    ['a large object', { router: 'api', snapshot: { addresses: Array.from({ length: 5_000 }, String) }, msg: 'm' }],
    ['a long list', { router: 'api', faults: Array.from({ length: 9_000 }, (_, i) => `fault${i}`), msg: 'm' }],
    ['characters that steer', { router: 'api', reason: '\u202e'.repeat(9_000), msg: '\u{e0041}'.repeat(9_000) }],
    ['a hundred texts', Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, '\u0085'.repeat(1_500)]))],
  ])('is one whole document: %s', (_, fields) => {
    const before = lineOf(fields)
    expect(Buffer.byteLength(before), 'octets before').toBeGreaterThan(LONGEST)
    const line = journalJson(before)
    expect(Buffer.byteLength(line), 'octets').toBeLessThanOrEqual(LONGEST)
    expect(line.split('\n'), 'lines').toHaveLength(2)
    expect(STEERS.exec(line.slice(0, -1))).toBeNull()
    const record = JSON.parse(line)
    expect(record).toMatchObject(common)
    expect(record.shortened).not.toEqual([])
    // What is not named is as it was, and a list or an object is never another one.
    for (const [key, value] of Object.entries(fields))
      if (!record.shortened.includes(key)) expect(record[key], key).toEqual(value)
      else if (typeof value !== 'string') expect(record[key], key).toBeUndefined()
  })

  test('keeps the beginning of a text, and says how much is missing', () => {
    const { reason, router, shortened } = JSON.parse(
      journalJson(lineOf({ router: 'api', reason: 'a'.repeat(60_000), msg: 'm' })),
    )
    expect([router, shortened]).toEqual(['api', ['reason']])
    expect(reason).toMatch(/^a{1500}… \(58500 more characters\)$/)
  })
})
