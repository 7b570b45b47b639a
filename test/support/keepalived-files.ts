// biome-ignore-all lint/suspicious/noTemplateCurlyInString: how keepalived writes its parameters
/**
 * Lists small keepalived files, each with the result of keepalived 2.2.7 (-t: exit status 0, 4, 5 or 6) and of
 * holdfast. `clean` means that a file is read without a message. `warned` means that the daemon runs and prints a
 * message. `refused` means that the daemon does not start. This file decides the files. This file does not know how a
 * daemon is asked.
 */

export type FileCase = {
  readonly title: string
  readonly text: string
  readonly exit: number
  readonly ours: 'clean' | 'warned' | 'refused'
}

const instance = (lines: string, addresses = '10.0.0.9', head = '') =>
  `${head}vrrp_instance A {\ninterface eth0\nvirtual_router_id 5\n${lines}\nvirtual_ipaddress {\n${addresses}\n}\n}\n`

const file = (title: string, exit: number, ours: FileCase['ours'], text: string): FileCase => ({
  title,
  text,
  exit,
  ours,
})

export const FILE_CASES: readonly FileCase[] = [
  file('nothing at all', 0, 'warned', ''),
  file('comments alone', 0, 'warned', '# a\n! b\n'),
  file('a plain instance', 0, 'clean', instance('state BACKUP\npriority 100\nadvert_int 1')),
  file('a brace on the next line', 0, 'clean', instance('').replace('A {', 'A\n{')),
  file('CRLF', 0, 'clean', instance('state BACKUP').replaceAll('\n', '\r\n')),
  file('values in one line with their braces', 0, 'clean', instance('').replace(/\{\n(10.0.0.9)\n\}/, '{ $1 }')),
  file('a definition', 0, 'clean', `$P=77\n${instance('priority $P')}`),
  file('a condition of another node', 0, 'clean', instance('@other priority 300')),
  file('a sequence', 0, 'clean', instance('', '~SEQ(N, 3) 10.0.0.1${N}')),
  file('an include that finds nothing', 0, 'warned', `include /nonexistent/*.conf\n${instance('')}`),
  file('unicast', 0, 'clean', instance('unicast_src_ip 10.0.0.1\nunicast_peer {\n10.0.0.2\n}')),
  file('a group of one', 5, 'warned', `${instance('')}vrrp_sync_group G {\ngroup {\nA\n}\n}\n`),
  file('an empty list of peers', 5, 'warned', instance('unicast_src_ip 10.0.0.1\nunicast_peer {\n}')),
  file('an unknown keyword', 5, 'warned', instance('foo bar')),
  file('priority out of range', 5, 'warned', instance('priority 300')),
  file('an interval of nothing', 5, 'warned', instance('advert_int 0')),
  file('half a second in version 2', 5, 'warned', instance('advert_int 1.5')),
  file('an address of the other family', 5, 'warned', instance('', '10.0.0.9\nfd00::9')),
  file(
    'a password that is too long',
    5,
    'warned',
    instance('authentication {\nauth_type PASS\nauth_pass 123456789\n}'),
  ),
  file('a script that is not there', 5, 'warned', instance('track_script {\nnope\n}')),
  file('a state that is none', 5, 'warned', instance('state FOO')),
  file('neither on nor off', 5, 'warned', instance('lower_prio_no_advert maybe')),
  file('an instance without VRID', 5, 'refused', instance('').replace('virtual_router_id 5', '')),
  file('a VRID twice', 5, 'refused', instance('') + instance('', '10.0.0.10').replace(' A ', ' B ')),
  file('a name twice', 5, 'warned', instance('') + instance('', '10.0.0.10')),
  file('no closing brace', 5, 'refused', instance('').slice(0, -2)),
  file('a closing brace too many', 5, 'refused', `${instance('')}}\n`),
  file('an open quote', 5, 'refused', instance('notify "/bin/true')),
  file('a line that goes on', 5, 'refused', instance('state \\\nBACKUP')),
  // keepalived ignores the rest of a line after a NUL, so it does not report the unclosed brace.
  file('a NUL', 0, 'refused', `${instance('')}\0 {\n`),
  file('an include that is missing', 0, 'refused', `include /nonexistent/a.conf\n${instance('')}`),
  file('the same, wanted', 6, 'refused', `includea /nonexistent/a.conf\n${instance('')}`),
]
