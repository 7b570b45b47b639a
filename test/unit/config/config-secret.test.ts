/** A password is in no message, wherever it was written by mistake (VR-V2-06, VR-SEC-05). */
import { expect, test } from 'vitest'
import { formatProblem } from '../../../src/config/problem.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

const SECRET = 'geheim'
const file = (authentication: string) =>
  `virtualRouters:\n  - name: a\n    vrid: 1\n    interface: eth0\n    addresses: [10.0.0.200]\n    stagger: false\n    version: 2\n    authentication: ${authentication}\n`

function problems(authentication: string) {
  const parsed = parseConfig(file(authentication), 'h.yaml')
  return 'problems' in parsed ? parsed.problems : parsed.warnings
}

test.each([
  SECRET,
  `[${SECRET}]`,
  `{ ${SECRET} }`,
  `{ type: ${SECRET}, password: x }`,
  `{ type: simple, ${SECRET}: x }`,
  `{ type: simple, password: { ${SECRET}: x } }`,
  `{ type: simple, password: [${SECRET}] }`,
  `{ type: simple, password: *${SECRET} }`,
  `{ type: simple, password: !${SECRET} }`,
  `{ type: simple, password: !!${SECRET} x }`,
  `{ type: simple, password: !<${SECRET}> x }`,
  `{ type: simple, password: !${SECRET}! }`,
  `{ type: simple, password: &${SECRET} }`,
  `{ type: simple, password: "\\${SECRET}" }`,
  `{ type: simple, password: "x\\u1${SECRET}" }`,
  `{ type: simple, password: '${SECRET} }`,
  `{ type: simple, password: ${SECRET}}x }`,
  `{ type: simple, password: x ${SECRET}: y, ${SECRET}: z }`,
  `\n      type: simple\n      password: |${SECRET}`,
  `\n      type: simple\n      password: >${SECRET}\n        x`,
  `\n      type: simple\n      password: "x"${SECRET}: y`,
  `\n      type: simple\n      password: @${SECRET}`,
  `\n      type: simple\n      password: "${SECRET}\\t"`,
  `{ type: simple, password: "${SECRET}lang" }`,
])('authentication: %j', (authentication) => {
  const found = problems(authentication)
  expect(found.length, 'there is something to say').toBeGreaterThan(0)
  expect(JSON.stringify(found)).not.toContain(SECRET)
})

test.each([
  [
    '{ type: simple, password: 1234 }',
    /^h\.yaml:8:47: virtualRouters\[0\]\.authentication\.password: cannot use this value, expected a text in quotes/,
  ],
  [
    '{ type: md5, password: x }',
    /^h\.yaml:8:29: virtualRouters\[0\]\.authentication\.type: cannot use this value, expected simple$/,
  ],
  ['{ type: simple }', /^h\.yaml:8:21: virtualRouters\[0\]\.authentication\.password: required, a text/],
  ['{ type: simple, password: "" }', /authentication\.password: cannot use this value, expected a text in quotes/],
  [
    '{ type: simple, password: x, key: 1 }',
    /^h\.yaml:8:50: unknown key in virtualRouters\[0\]\.authentication: known keys are type, password$/,
  ],
])('%s', (authentication, words) => {
  expect(problems(authentication).map(formatProblem)).toEqual([expect.stringMatching(words)])
})

test.each(['12345678', 'ä', '"#: "'])('password %s is fine', (password) => {
  expect(problems(`{ type: simple, password: "${password.replaceAll('"', '')}" }`)).toEqual([])
})

test('a password of more than 8 octets gives a warning; octets are counted, not letters', () => {
  const warning =
    /^h\.yaml:8:21: warning: The password of "a" is cut to its first 8 octets, as the packet has no more room$/
  expect(problems('{ type: simple, password: "123456789" }').map(formatProblem)).toEqual([
    expect.stringMatching(warning),
  ])
  expect(problems('{ type: simple, password: "ääää" }')).toEqual([])
  expect(problems('{ type: simple, password: "äääää" }').map(formatProblem)).toEqual([expect.stringMatching(warning)])
})

/** The requests of a check and the text of a URL may contain a secret as well. */
test.each([
  ['http', `http: "ftp://user:${SECRET}@h/"`],
  ['http', `http: "http://h:${SECRET}/"`],
  ['http', `http: "http://%zz${SECRET}@h/"`],
  ['http', `http: [${SECRET}]`],
  ['headers', `http: "http://h/", headers: ${SECRET}`],
  ['headers', `http: "http://h/", headers: { Authorization: "${SECRET}\\n" }`],
  ['headers', `http: "http://h/", headers: { Authorization: [${SECRET}] }`],
  ['headers', `http: "http://h/", headers: { A: x, a: ${SECRET} }`],
  ['headers', `tcp: "h:1", headers: { Authorization: ${SECRET} }`],
  ['environment', `exec: [/x], environment: [${SECRET}]`],
  ['environment', `exec: [/x], environment: { A: { ${SECRET}: x } }`],
  ['environment', `tcp: "h:1", environment: { A: ${SECRET} }`],
  ['send', `http: "http://h/", send: ${SECRET}`],
  ['send', `tcp: "h:1", send: [${SECRET}]`],
])('%s of a health check: %s', (key, check) => {
  const text = `healthchecks:\n  - { name: x, ${check} }\nvirtualRouters:\n  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.200], stagger: false }\n`
  const parsed = parseConfig(text, 'h.yaml')
  const found = 'problems' in parsed ? parsed.problems : []
  expect(found.map(formatProblem)).toContainEqual(
    expect.stringMatching(
      /^h\.yaml:2:\d+: healthchecks\[0\]\.\S+: (cannot use this value, expected |only for http checks|only for exec checks|only for tcp checks)/,
    ),
  )
  expect(JSON.stringify(found), key).not.toContain(SECRET)
})
