/**
 * Runs keepalived 2.2.7 with each file of test/support/keepalived-refusals.ts. For a refused file, the test checks the exit status of -t
 * and of the daemon. For an accepted file, the test checks the dump (SIGUSR1).
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { REFUSED, USED, type Used } from '../support/keepalived-refusals.ts'
import { describeInterop } from '../support/require.ts'

/** Number of daemons that run at the same time, each in its own namespaces. */
const AT_ONCE = 6

/** Script for a folder $0 with keepalived.conf. Prints the exit status of -t, and of the daemon if the daemon ends by itself. */
const ASK = `
mount -t tmpfs none /run
ip link add eth0 type veth peer name other
ip link set lo up; ip link set eth0 up; ip link set other up
ip address add 10.44.0.1/24 dev eth0
cd "$0"
timeout 10 keepalived -t -f "$0/keepalived.conf" >/dev/null 2>&1; echo "test $?"
timeout 30 keepalived -n -l -D -P -f "$0/keepalived.conf" -p /run/p -r /run/r >log 2>&1 & daemon=$!
for i in $(seq 100); do
  sleep 0.1
  kill -0 $daemon 2>/dev/null || { wait $daemon; echo "daemon $?"; exit; }
  grep -qE "Entering|entering FAULT" log && break
done
# A script that is down is one result away.
sleep 1
kill -USR1 "$(cat /run/p)"
for i in $(seq 50); do sleep 0.1; grep -q "VRRP Sockpool" keepalived.data 2>/dev/null && break; done
kill "$(cat /run/p)"; wait $daemon
`

describeInterop('keepalived 2.2.7', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hf-recorded-'))
  const cases = [...REFUSED.map(({ text }) => text), ...USED.map(([, text]) => text)]
  const answers: string[] = []
  const placeOf = (index: number) => join(folder, String(index))

  beforeAll(async () => {
    const waiting = [...cases.entries()]
    const worker = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, text] = next
        mkdirSync(placeOf(index))
        writeFileSync(join(placeOf(index), 'keepalived.conf'), text)
        answers[index] = await outputOf(['unshare', '-n', '-m', 'sh', '-c', ASK, placeOf(index)], placeOf(index))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }, 120_000)
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(REFUSED.map((each, index) => [each.title, index, each.test] as const))(
    'refuses the file as recorded: %s',
    (_, index, status) => {
      expect(answers[index]?.trim().split('\n')).toEqual([`test ${status}`, 'daemon 2'])
    },
  )

  test.each(USED.map(([title, , used], index) => [title, index + REFUSED.length, used] as const))(
    'uses the value as recorded: %s',
    (_, index, used) => {
      expect(answers[index]).not.toContain('daemon')
      expect(valuesOf(readFileSync(join(placeOf(index), 'keepalived.data'), 'utf8'))).toMatchObject(used)
    },
  )
})

function outputOf([program = '', ...argv]: readonly string[], TMPDIR: string): Promise<string> {
  const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, TMPDIR } })
  let text = ''
  child.stdout.on('data', (data: Buffer) => {
    text += data.toString()
  })
  return new Promise((resolve) => child.on('close', () => resolve(text)))
}

function valuesOf(dump: string): Used {
  const instance = dump.slice(dump.indexOf(' VRRP Instance = '))
  const valueIn = (text: string, key: string) => new RegExp(`^ +${key} = (.*)$`, 'm').exec(text)?.[1] ?? ''
  const number = (key: string) => Number.parseFloat(valueIn(instance, key))
  const interval = valueIn(instance, 'Advert interval')
  const script = dump.slice(dump.indexOf(' VRRP Script = '))
  return {
    priority: number('Priority'),
    effective: number('Effective priority'),
    ...(valueIn(instance, 'State') === 'FAULT' ? ({ fault: true } as const) : {}),
    interval: Number.parseFloat(interval) * (interval.endsWith('milli-sec') ? 1 : 1000),
    state: valueIn(instance, 'Wantstate') === 'MASTER' ? 'MASTER' : 'BACKUP',
    version: number('VRRP Version'),
    vrid: number('Virtual Router ID'),
    garpDelay: number('Gratuitous ARP delay'),
    garpRepeat: number('Gratuitous ARP repeat'),
    lowerDelay: number('Gratuitous ARP lower priority delay'),
    lowerRepeat: number('Gratuitous ARP lower priority repeat'),
    ttl: number('Unicast TTL'),
    timeout: Number.parseFloat(valueIn(script, 'Timeout')),
    pollInterval: Number.parseFloat(valueIn(script, 'Interval')),
    fall: Number.parseFloat(valueIn(script, 'Fall')),
    rise: Number.parseFloat(valueIn(script, 'Rise')),
  }
}
