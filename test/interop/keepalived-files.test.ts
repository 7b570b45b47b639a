/**
 * Compares holdfast with `keepalived -t` for each file, in a network namespace with the interface that the files name. If keepalived
 * accepts a file without a message, holdfast must accept it. If keepalived reports a problem, holdfast must report a problem.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadKeepalivedConfig } from '../../src/files/keepalived-file.ts'
import { FILE_CASES } from '../support/keepalived-files.ts'
import { sample } from '../support/keepalived-text.ts'
import { describeInterop } from '../support/require.ts'

/** Expected exit statuses of keepalived for the samples. 5 and 6 are warnings: no password in the samples is shorter than nine letters. */
const SAMPLES: Readonly<Record<string, number>> = { worker: 5, master: 5, 'legacy-4.5-vsphere-master': 6 }

describeInterop('a keepalived file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hf-files-'))
  const exits = new Map<string, number>()
  const fileOf = (index: number) => join(folder, `${index}.conf`)
  const samples = Object.keys(SAMPLES)

  beforeAll(() => {
    for (const [index, { text }] of FILE_CASES.entries()) writeFileSync(fileOf(index), text)
    for (const name of samples)
      writeFileSync(join(folder, `${name}.conf`), sample(name).replace(/br-ex|ens192/g, 'eth0'))
    const script =
      'ip link add eth0 type veth peer name eth1 && ip link set eth0 up && ip link set eth1 up && ' +
      'ip addr add 10.0.0.1/24 dev eth0 && for f in "$0"/*.conf; do ' +
      'timeout 10 keepalived -t -f "$f" >/dev/null 2>&1; echo "$(basename "$f") $?"; done'
    const output = execFileSync('unshare', ['-n', 'sh', '-c', script, folder], { encoding: 'utf8' })
    for (const line of output.trim().split('\n')) {
      const [file = '', status = ''] = line.split(' ')
      exits.set(file, Number(status))
    }
    expect(exits.size).toBe(readdirSync(folder).length)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const ours = (file: string) => {
    const loaded = loadKeepalivedConfig(file)
    return 'problems' in loaded ? 'refused' : loaded.warnings.length > 0 ? 'warned' : 'clean'
  }

  test.each(FILE_CASES.map((each, index) => [each.title, each, index] as const))(
    'is judged by holdfast as by keepalived -t: %s',
    (_, { exit, ours: expected }, index) => {
      expect({ keepalived: exits.get(`${index}.conf`), ours: ours(fileOf(index)) }).toEqual({
        keepalived: exit,
        ours: expected,
      })
    },
  )

  test.each(samples)('is judged by holdfast as by keepalived -t: sample %s', (name) => {
    expect({ keepalived: exits.get(`${name}.conf`), ours: ours(join(folder, `${name}.conf`)) }).toEqual({
      keepalived: SAMPLES[name],
      ours: 'warned',
    })
  })
})
