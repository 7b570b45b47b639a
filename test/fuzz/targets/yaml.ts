/**
 * The YAML loader, which also reads the documents of the control socket. A refused document has an error, and each
 * problem has a place and a path in the text. An accepted document resolves on a node and does not differ from itself.
 * Such a document is the same configuration when it is written again.
 */
import { parse, stringify } from 'yaml'
import { trackAdvice } from '../../../src/config/advice/track-advice.ts'
import { diffConfig } from '../../../src/config/diff.ts'
import { isError } from '../../../src/config/problem.ts'
import { environmentProblems, resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { filesIn, fileText } from '../corpus.ts'
import { complaintOf, must, octets, same, type Target, textOf } from '../target.ts'
import { NODE_VIEW } from './node.ts'

/** Every key of the reference, in a person's spelling. */
const KEYS = [...new Set(fileText('docs/config-reference.yaml').match(/[a-zA-Z]+(?=:)/g) ?? [])].sort()

const SMALL = `virtualRouters:
  - name: api
    vrid: 51
    interface: eth0
    addresses: [192.0.2.100/24, 198.51.100.1]
    priority: 150
    advertisementInterval: 100ms
    track: [{ healthcheck: api, weight: 20 }]
  - { name: six, vrid: 51, interface: eth0, addresses: ["fe80::100"], preempt: false }
  - { name: uni, vrid: 52, interface: auto, addresses: [192.0.2.101], transport: { unicast: { peers: [{ address: 192.0.2.12, priority: 90 }] } } }
syncGroups: [{ name: both, members: [api, six] }]
healthchecks:
  - { name: api, http: "http://127.0.0.1:6443/readyz", interval: 1s }
  - { name: all, all: [api] }
api: { listen: "127.0.0.1:9112" }
`

export const YAML: Target = {
  name: 'yaml',
  corpus: () => [
    octets(fileText('docs/config-reference.yaml')),
    // Each of its sections: a small text is read more often in the same time.
    ...fileText('docs/config-reference.yaml')
      .split(/^(?=[a-z])/m)
      .map((section) =>
        octets(/^(version|virtualRouters):/m.test(section) ? section : `virtualRouters: []\n${section}`),
      ),
    ...filesIn('deploy/compose', '.yaml').map((file) => octets(fileText(file))),
    octets(SMALL),
  ],
  words: [
    ...KEYS.map((key) => `${key}: `),
    ...[
      '\n',
      '\n  ',
      '\n    ',
      '\n- ',
      '  - ',
      ': ',
      '{',
      '}',
      '[',
      ']',
      ', ',
      '"',
      "'",
      '# ',
      '|',
      '>',
      '&a ',
      '*a',
      '!!str ',
      '<<: *a',
      '---\n',
      '...\n',
      '? ',
      '%YAML 1.1\n',
      '\0',
      '\t',
      '\r\n',
    ],
    ...[
      'null',
      'true',
      'false',
      '~',
      '0x10',
      '1e3',
      '.inf',
      '.nan',
      '-0',
      '__proto__',
      'constructor',
      'toString',
      '100ms',
      '1s',
      '5m',
      'auto',
    ],
    ...[
      '192.0.2.100',
      '192.0.2.100/33',
      'fe80::1',
      '::ffff:1.2.3.4',
      '255',
      '256',
      '0',
      'ipv6',
      'unicast',
      'rfc9568',
      'keepalived',
      'eth0',
    ],
  ].map(octets),
  largest: 3_000,
  short: 3_000,
  examine(input) {
    const text = textOf(input)
    const parsed = parseConfig(text, 'holdfast.yaml')
    const problems = 'problems' in parsed ? parsed.problems : parsed.warnings
    const lines = text.split('\n')
    for (const { column, line, message, path } of problems) {
      const written = lines[line - 1]
      must(written !== undefined && column >= 1 && column <= written.length + 1, 'A problem lies in no text', () => [
        line,
        column,
        message,
      ])
      must(message !== '' && !/\n/.test(message), 'A problem has no line', () => message)
      must(typeof path === 'string', 'A problem has no path')
    }
    if ('problems' in parsed) {
      must(problems.some(isError), 'It is refused without an error', () => problems)
      return `refused ${complaintOf(problems)}`
    }
    must(!problems.some(isError), 'It is taken with an error', () => problems)
    const { config, locate } = parsed
    const { routers } = resolveRouters(config, NODE_VIEW, locate)
    must(routers.length <= config.virtualRouters.length, 'There are more routers than are written')
    environmentProblems(config, NODE_VIEW, locate)
    trackAdvice(config, locate, NODE_VIEW)
    const nothing = diffConfig(config, config)
    must(!/"name"|true/.test(JSON.stringify(nothing)), 'It differs from itself', () => nothing)
    const again = parseConfig(stringify(parse(text, { uniqueKeys: false, resolveKnownTags: false, logLevel: 'error' })))
    must('config' in again, 'What is written again is refused', () => again)
    must(same(again.config, config), 'What is written again is something else', () => [again.config, config])
    return `${Math.min(4, config.virtualRouters.length)} ${Math.min(4, config.healthchecks.length)} ${complaintOf(problems)}`
  },
}
