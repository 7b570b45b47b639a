/** The output of `holdfast convert`, for a file with every kind of keyword, and for one that cannot be read. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { convertCommand } from '../../../src/cli/convert.ts'

const folder = mkdtempSync(join(tmpdir(), 'hf-convert-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function convert(text: string, others: Readonly<Record<string, string>> = {}, configId?: string) {
  const file = join(folder, 'keepalived.conf')
  writeFileSync(file, text)
  for (const [name, content] of Object.entries(others)) writeFileSync(join(folder, name), content)
  const { exitCode, stdout, stderr } = await convertCommand(file, configId)
  return { exitCode, stdout: stdout.replaceAll(folder, ''), stderr: stderr.replaceAll(folder, '') }
}

test('convert writes a file with every kind of keyword as YAML, and lists what it left out', async () => {
  const { exitCode, stdout, stderr } = await convert(
    `global_defs {
  smtp_alert
  max_auto_priority -1
  colour red
}
include {a,b}.inc
vrrp_instance BAD {
  interface eth0
  virtual_router_id 7
  use_vmac
  virtual_ipaddress {
    10.0.0.7/24 scope link
  }
}
`,
    {
      'a.inc': 'vrrp_instance GOOD {\n@here priority 42\n@there priority 43\ninterface eth0\nvirtual_router_id 6\n',
      'b.inc': 'authentication {\nauth_type PASS\nauth_pass s3cret\n}\nvirtual_ipaddress {\n10.0.0.6\n}\n}\n',
    },
    'here',
  )
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(stdout).toBe(`# The same configuration as /keepalived.conf, written by holdfast convert.
# Carried over: 13 keywords.
#
# Refused: these would change packets or the election, so their instances stay in fault (1):
#   /keepalived.conf:10: use_vmac: holdfast has no virtual MACs: addresses use the MAC of the interface
#
# Not carried over (1):
#   /keepalived.conf:2: smtp_alert: holdfast sends no mail: use metrics and alerts
#
# Not known (1):
#   /keepalived.conf:4: global_defs: keepalived has no keyword "colour" there; the line is ignored
#
# Without effect here (1):
#   /keepalived.conf:3: max_auto_priority: scheduling is set with --realtime or by systemd
#
# Also (1):
#   /keepalived.conf:12: "scope" of 10.0.0.7/24 is not supported: the address is installed without it

version: 1
virtualRouters:
  - name: GOOD
    vrid: 6
    interface: eth0
    addresses:
      - 10.0.0.6
    profile: keepalived
    version: 2
    priority: 42
    authentication:
      type: simple
      password: s3cret
    stagger: false
  - name: BAD
    vrid: 7
    interface: eth0
    addresses:
      - 10.0.0.7/24
    profile: keepalived
    version: 2
    priority: 100
    stagger: false
    fault: '/keepalived.conf:10: "use_vmac" is refused: holdfast has no virtual MACs: addresses use the MAC of the interface'
`)
})

test('convert reports a file that it cannot read', async () => {
  expect(await convert('vrrp_instance A {\n')).toEqual({
    exitCode: 78,
    stdout: '',
    stderr: '/keepalived.conf:1:17: Cannot find the "}" of this block: "vrrp_instance" is not closed\n',
  })
  expect((await convertCommand(join(folder, 'nowhere.conf'))).exitCode).toBe(78)
})

test('convert shows a password in the YAML only, and in no list or problem', async () => {
  const text = (inside: string) =>
    `vrrp_instance A {\ninterface eth0\nvirtual_router_id 1\nauthentication {\n${inside}\n}\nvirtual_ipaddress {\n10.0.0.6\n}\n}\n`
  for (const inside of [
    'auth_type PASS\nauth_pass "s3cret',
    's3cret x',
    'auth_pass\ns3cret',
    'auth_type s3cret',
    'auth_pass s3cret',
  ])
    expect(JSON.stringify(await convert(text(inside)))).not.toContain('s3cret')
})

test.each([
  ['', 'run', 'Runs'],
  ['enable_script_security', 'skip', 'Skipped'],
])(
  'convert keeps programs that other users can change, with "%s": unsafe: %s, and a warning with its position',
  async (line, word, begin) => {
    const program = join(folder, 'open')
    writeFileSync(program, '#!/bin/sh\n')
    chmodSync(program, 0o777)
    const { exitCode, stdout, stderr } = await convert(
      `global_defs {\n${line}\n}\nvrrp_script s {\nscript ${program}\n}\nvrrp_instance A {\ninterface eth0\n` +
        `virtual_router_id 1\nvirtual_ipaddress {\n10.0.0.6\n}\ntrack_script {\ns\n}\nnotify ${program}\n}\n`,
    )
    expect(exitCode).toBe(0)
    expect(stdout.match(/unsafe: \w+/g)).toEqual([`unsafe: ${word}`, `unsafe: ${word}`])
    expect(stderr.split('\n').map((each) => each.replace(/ [^ ]*open.*, /, ' … '))).toEqual([
      `/keepalived.conf:5:8: warning: ${begin} … for "s"`,
      `/keepalived.conf:16:8: warning: ${begin} … for notifications of "A"`,
      '',
    ])
  },
)
