/**
 * keepalived's file: lexer, parser and import. Reading ends, a problem lies in a text that was read, and a refused
 * file has an error. The result does not depend on an earlier reading. The YAML of a converted file is the same
 * configuration. An input contains the file and, behind it, a file that it may include.
 */
import { readKeepalived } from '../../../src/config/keepalived/configuration.ts'
import { conversionText } from '../../../src/config/keepalived/conversion.ts'
import { KEYWORDS } from '../../../src/config/keepalived/keywords/keywords.ts'
import type { KeepalivedSource, Surroundings } from '../../../src/config/keepalived/source.ts'
import { isError, type Position } from '../../../src/config/problem.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { filesIn, fileText } from '../corpus.ts'
import { complaintOf, must, octets, same, type Target, textOf } from '../target.ts'
import { NODE_VIEW } from './node.ts'

const FILE = '/etc/keepalived/keepalived.conf'
const OTHER = '/etc/keepalived/other.conf'
/** Separator of the two files: the "record separator". */
const BETWEEN = '\x1e'

const NODE: Surroundings = {
  configId: 'node1',
  scriptUser: undefined,
  programPath: (name) => (name === 'true' ? '/bin/true' : undefined),
  random: () => 0.5,
}

const SAMPLE = `$A=10.0.0
$LIST=1 2 3
global_defs {
  router_id x
  vrrp_version 3
  enable_script_security
  vrrp_garp_master_delay 3
}
include other.conf
vrrp_script check {
  script "/bin/true -a 'b c'"
  interval 2
  weight -20
}
$N=1
vrrp_instance V$N {
  state BACKUP
  interface eth0
  virtual_router_id $N
  priority 150
  unicast_src_ip \${A}.1
  unicast_peer {
    \${A}.2 min_ttl 250
    ~SEQ(P,3,5) \${A}.$P
  }
  authentication {
    auth_type PASS
    auth_pass secret
  }
  @node1 nopreempt
  @^node1 preempt_delay 5
  virtual_ipaddress {
    \${A}.9/24 dev eth0 label eth0:v
    fd00::9/64
  }
  track_script {
    check weight 5
  }
  notify "/bin/true x"
}
vrrp_instance V2 {
  interface eth1
  virtual_router_id 2
  virtual_ipaddress {
    10.0.1.9
  }
}
vrrp_sync_group G {
  group {
    V1
    V2
  }
}
`

export const KEEPALIVED: Target = {
  name: 'keepalived',
  corpus: () => [
    ...filesIn('test/samples/keepalived', '.conf').map((file) => octets(fileText(file))),
    octets(fileText('deploy/compose/keepalived.conf')),
    octets(`${SAMPLE}${BETWEEN}! nothing\nvrrp_track_process p {\n  process haproxy\n}\n`),
  ],
  words: [
    ...KEYWORDS.map(({ name }) => name),
    ...['{', '}', '\n', '\n}\n', ' {\n', '"', "'", '\\', '\\\n', '#', '!', '\t', '\0', BETWEEN],
    ...[
      '$A=',
      '$A',
      `\${A}`,
      `\${_RANDOM 1 9}`,
      '@node1 ',
      '@^x ',
      '~SEQ(A,1,3) ',
      '~LST(A,x,y) ',
      '~SEQ(A,9,1,-1)',
      '~LST({A,B},{1,2},{3,4}) ',
    ],
    ...['include other.conf\n', 'include *.conf\n', 'include keepalived.conf\n', 'includer other.conf\n'],
    ...[
      '10.0.0.1',
      '10.0.0.9/24',
      'fd00::1/64',
      'fe80::1',
      '224.0.0.18',
      'weight',
      'dev eth0',
      'label',
      'min_ttl',
      'reverse',
    ],
    ...[
      'MASTER',
      'BACKUP',
      'PASS',
      'AH',
      'true',
      'no',
      '0.5',
      '-1',
      '255',
      '254',
      '256',
      '"/bin/true"',
      '\u2028',
      '\u{1f4a9}',
    ],
  ].map(octets),
  largest: 4_000,
  // A line may ask for 65 536 lines (~SEQ), and they are read twice here.
  longest: 10_000,
  short: 3_000,
  examine(input) {
    const [text = '', other = ''] = textOf(input).split(BETWEEN)
    const texts: Readonly<Record<string, string>> = { [FILE]: text, [OTHER]: other }
    const read = readKeepalived({ file: FILE, text }, sourceOf(texts), NODE)
    const parsed = 'problems' in read ? read : read.parsed
    const problems = 'problems' in parsed ? parsed.problems : parsed.warnings
    for (const problem of problems) must(liesIn(texts, problem), 'A problem lies in no text', () => problem)
    if ('problems' in parsed) {
      must(problems.some(isError), 'It is refused without an error', () => problems)
      return `refused ${complaintOf(problems)}`
    }
    must(!problems.some(isError), 'It is taken with an error', () => problems)
    if ('problems' in read) return 'never'
    for (const { at } of read.handlings) must(liesIn(texts, at), 'A handling lies in no text', () => at)
    resolveRouters(parsed.config, NODE_VIEW)
    const yaml = conversionText(FILE, read)
    const again = parseConfig(yaml)
    must('config' in again, 'What it is converted to is refused', () => again)
    must(same(again.config, parsed.config), 'What it is converted to is something else', () => yaml)
    const handlings = new Set(
      read.handlings.map(({ keyword, kind }) => `${kind === 'carried' ? '' : `${kind} `}${keyword.slice(0, 30)}`),
    )
    return `${Math.min(3, parsed.config.virtualRouters.length)} ${[...handlings].sort().slice(-2).join(' ')} ${complaintOf(problems)}`
  },
}

const sourceOf =
  (texts: Readonly<Record<string, string>>): KeepalivedSource =>
  (pattern, directory) => {
    const path = pattern.startsWith('/') ? pattern : `${directory}/${pattern}`
    const names = Object.keys(texts).filter((name) => name === path || path.endsWith('*.conf'))
    return { files: names.map((file) => ({ file, text: texts[file] ?? '' })), unreadable: [] }
  }

/** Reports whether a position lies in a text. A missing word has the position after the end. */
function liesIn(texts: Readonly<Record<string, string>>, { column, file, line }: Position): boolean {
  const text = texts[file ?? '']?.split('\n')[line - 1]
  return text !== undefined && column >= 1 && column <= text.length + 1
}
