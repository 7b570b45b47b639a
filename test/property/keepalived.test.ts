// biome-ignore-all lint/suspicious/noTemplateCurlyInString: how keepalived writes its parameters
/**
 * Any content of a keepalived file. Reading never throws and always ends, problems lie in the files that were read,
 * and every keyword has a handling. The YAML of a converted file is the same configuration.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readKeepalived } from '../../src/config/keepalived/configuration.ts'
import { conversionText } from '../../src/config/keepalived/conversion.ts'
import { KEYWORDS } from '../../src/config/keepalived/keywords/keywords.ts'
import type { Line } from '../../src/config/keepalived/text/parser.ts'
import { parseKeepalived } from '../../src/config/keepalived/text/parser.ts'
import { isError, type Position } from '../../src/config/problem.ts'
import { parseConfig } from '../../src/config/text/yaml.ts'
import { forAll } from '../support/for-all.ts'
import { FILE, files, NODE, sample } from '../support/keepalived-text.ts'

const INCLUDED = '/etc/keepalived/other.conf'

function liesIn(texts: Readonly<Record<string, string>>, { file, line, column }: Position): boolean {
  const lines = texts[file ?? '']?.split('\n')
  const text = lines?.[line - 1]
  // The position of a missing word is behind the end of the line.
  return text !== undefined && column >= 1 && column <= text.length + 1
}

function readBoth(text: string, other = '') {
  const texts = { [FILE]: text, [INCLUDED]: other }
  const read = readKeepalived({ file: FILE, text }, files(texts), NODE)
  const parsed = 'problems' in read ? read : read.parsed
  const problems = 'problems' in parsed ? parsed.problems : parsed.warnings
  for (const problem of problems) expect(liesIn(texts, problem), JSON.stringify(problem)).toBe(true)
  if ('problems' in parsed) expect(parsed.problems.some(isError)).toBe(true)
  return { read, texts }
}

/** Pieces of the grammar that have a meaning, so that random texts reach beyond the first line of the grammar. */
const piece = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...KEYWORDS.map(({ name }) => name)) },
  fc.constantFrom(
    '{',
    '}',
    '\n',
    ' ',
    '"',
    "'",
    '\\',
    '#',
    '!',
    '$A=',
    '$A',
    '${A}',
    '@node1 ',
    '@^x ',
    '~SEQ(A,1,3) ',
    '~LST(A,x,y) ',
  ),
  fc.constantFrom(
    '10.0.0.1',
    'fd00::1/64',
    'weight',
    '1',
    '-5',
    '255',
    '0.5',
    'include other.conf',
    'MASTER',
    'PASS',
    'dev',
    'label',
  ),
  fc.string({ maxLength: 8, unit: 'binary' }),
)
const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(' '))

describe('arbitrary input', () => {
  test('reading never throws on pieces of the grammar', () => {
    forAll(400, [text, text], (a, b) => {
      readBoth(a, b)
    })
  })

  test('reading never throws on arbitrary octets', () => {
    forAll(300, [fc.uint8Array({ maxLength: 400 })], (octets) => {
      readBoth(new TextDecoder().decode(octets))
    })
  })

  test('reading never throws on a sample with a hole', () => {
    const whole = sample('master-openstack-dualstack')
    forAll(
      150,
      [fc.nat(whole.length), fc.nat(80), fc.string({ maxLength: 5, unit: 'binary' })],
      (from, length, instead) => {
        readBoth(whole.slice(0, from) + instead + whole.slice(from + length))
      },
    )
  })
})

/** Realistic keepalived files: every value is valid, and the keywords are any of the known ones. */
const name = fc.constantFrom('VI_1', 'VI-2', 'api.x', 'A')
const optional = (line: fc.Arbitrary<string>) => fc.option(line, { nil: '' })
const number = (keyword: string, min: number, max: number) => fc.integer({ min, max }).map((n) => `${keyword} ${n}`)
const plainWord = fc.stringMatching(/^[A-Za-z0-9_,.:+%-]{1,12}$/)
const weight = fc.oneof(
  fc.constant(''),
  fc.integer({ min: -253, max: 253 }).map((n) => ` weight ${n}`),
)

const instance = (index: number, title: string) =>
  fc
    .tuple(
      fc.constantFrom('state BACKUP', 'state MASTER', ''),
      optional(number('priority', 1, 254)),
      optional(number('advert_int', 1, 40)),
      fc.constantFrom('', 'nopreempt', 'preempt_delay 7.25'),
      fc.constantFrom('', 'version 3', 'version 2'),
      fc.constantFrom(
        '',
        `unicast_src_ip 10.0.${index}.1\nunicast_peer {\n10.0.${index}.2\n10.0.${index}.3 min_ttl 250\n}`,
        `mcast_src_ip 10.0.${index}.1`,
        'unicast_peer {\n}',
      ),
      optional(plainWord.map((word) => `authentication {\nauth_type PASS\nauth_pass ${word}\n}`)),
      fc.array(
        fc.constantFrom(
          'garp_master_delay 3',
          'garp_master_refresh 60',
          'garp_master_repeat 2',
          'garp_lower_prio_repeat 0',
          'lower_prio_no_advert',
          'use_vmac',
          'smtp_alert',
          'accept',
        ),
        { maxLength: 3 },
      ),
      weight,
      fc.boolean(),
    )
    .map(
      ([state, priority, interval, preempt, version, transport, auth, more, tracked, six]) => `
vrrp_instance ${title}${index} {
${[state, `interface eth${index}`, `virtual_router_id ${index + 1}`, priority, interval, preempt, version, auth, ...more].join('\n')}
${six ? '' : transport}
virtual_ipaddress {
  ${six ? `fd00:${index}::9/64` : `10.0.${index}.9/24 dev eth${index} label v:${index}`}
}
track_script {
  check ${tracked}
}
track_interface {
  eth9
}
}`,
    )

const file = fc
  .tuple(
    fc.array(
      fc.constantFrom(
        'script_user nobody',
        'vrrp_version 3',
        'vrrp_garp_master_refresh 30',
        'router_id x',
        'enable_script_security',
      ),
      { maxLength: 4 },
    ),
    fc.array(plainWord, { minLength: 1, maxLength: 4 }),
    number('interval', 1, 60),
    number('rise', 1, 5),
    name,
    fc.integer({ min: 0, max: 3 }),
  )
  .chain(([globals, words, interval, rise, title, count]) =>
    fc.tuple(...Array.from({ length: count }, (_, index) => instance(index, title))).map(
      (instances) => `global_defs {\n${globals.join('\n')}\n}
vrrp_script check {
  script "/bin/true ${words.join(' ')}"
  ${interval}
  ${rise}
}
${instances.join('\n')}
vrrp_sync_group G {
  group {
    ${title}0
    ${title}1
  }
}`,
    ),
  )

function roundTrip(written: string) {
  const { read } = readBoth(written)
  if ('problems' in read || 'problems' in read.parsed) throw new Error(JSON.stringify(read, null, 1))
  const yaml = conversionText(FILE, read)
  const again = parseConfig(yaml)
  if ('problems' in again) throw new Error(`${JSON.stringify(again.problems, null, 1)}\n${yaml}`)
  expect(again.config).toEqual(read.parsed.config)
  return read
}

describe('conversion', () => {
  test('conversion gives the same configuration for realistic files', () => {
    forAll(150, [file], (written) => {
      roundTrip(written)
    })
  })

  test.each([
    'bootstrap',
    'bootstrap-initial',
    'legacy-4.5-vsphere-master',
    'master',
    'master-dualstack',
    'master-multicast',
    'master-openstack-dualstack',
    'worker',
  ])('conversion of the sample %s gives the same configuration', (title) => {
    roundTrip(sample(title))
  })
})

describe('nothing is dropped silently', () => {
  const keywordLines = (lines: readonly Line[]): readonly Line[] =>
    lines.flatMap((line) => {
      const top = line.words[0]?.text ?? ''
      const inside = ['global_defs', 'vrrp_instance', 'vrrp_script', 'vrrp_sync_group', 'authentication'].includes(top)
      return inside ? [line, ...keywordLines(line.block ?? [])] : [line]
    })

  test('every keyword of a file has exactly one handling, with its place', () => {
    forAll(60, [file], (written) => {
      const read = roundTrip(written)
      const { lines } = parseKeepalived({ file: FILE, text: written }, files({ [FILE]: written }), NODE)
      const places = keywordLines(lines).map(({ at }) => `${at.line}:${at.column}`)
      expect(read.handlings.map(({ at }) => `${at.line}:${at.column}`).sort()).toEqual([...places].sort())
    })
  })
})
