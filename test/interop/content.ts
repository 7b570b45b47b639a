/**
 * Decides which counters and log lines of a daemon count as a problem. For a daemon that has ended, only the log is
 * read. This file does not know the events of the test.
 */
import { expect } from 'vitest'
import type { Daemon } from '../../src/lab/daemons/daemon.ts'
import { Frr } from '../../src/lab/daemons/frr.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { Keepalived } from '../../src/lab/daemons/keepalived.ts'

export async function expectContent(daemon: Daemon): Promise<void> {
  if (daemon instanceof Keepalived) {
    if (daemon.running) await expectContentKeepalived(daemon)
    expectQuiet(daemon, daemon.warnings())
  } else if (daemon instanceof Frr) expectQuiet(daemon, daemon.warnings())
  else if (daemon instanceof Holdfast) {
    if (daemon.process.exit === undefined) await expectContentHoldfast(daemon)
    expectQuiet(daemon, warningsOf(daemon))
  }
}

function expectQuiet(daemon: Daemon, lines: readonly string[]): void {
  const where = `${daemon.kind} on ${daemon.plan.host.name}`
  expect(lines, `log lines of ${where} that report a problem: ${lines.join(' | ')}`).toEqual([])
}

async function expectContentKeepalived(daemon: Keepalived): Promise<void> {
  const { received, sent, ...errors } = await daemon.counters()
  expect(
    errors,
    `error counters of keepalived on ${daemon.plan.host.name} (received ${received}, sent ${sent})`,
  ).toEqual({
    lengthErrors: 0,
    ttlErrors: 0,
    typeErrors: 0,
    intervalErrors: 0,
    addressListErrors: 0,
    checksumErrors: 0,
    authenticationErrors: 0,
  })
}

async function expectContentHoldfast(daemon: Holdfast): Promise<void> {
  const { interfaces, routers } = await daemon.status()
  const { discarded, foreignChanges, sendFailures, warnings } = routers[0]?.counters ?? {}
  const onInterfaces = interfaces.map((one) => [one.discarded, one.overflowed])
  const counted = { discarded, foreignChanges, sendFailures, warnings, onInterfaces }
  const told = daemon.records.filter(({ level }) => level >= WARN).map(({ msg, at }) => `${at.toFixed(0)} ${msg}`)
  expect(
    counted,
    `what holdfast on ${daemon.plan.host.name} counted that is no plain news: ${JSON.stringify(counted)}; its log: ${told.join(' | ')}`,
  ).toEqual({ discarded: {}, foreignChanges: {}, sendFailures: {}, warnings: {}, onInterfaces: [[{}, 0]] })
}

const WARN = 40
/**
 * Log lines that are no problem: advice on the configuration, and messages of the cleanup plan. The list also has the
 * report that the kernel of a competing Active still answers for the address, after a heal or after the death of its
 * daemon. holdfast must report that.
 */
const NEWS = [
  // The following lines come only with HOLDFAST_TEST_IO. The lines name the limits of the raw socket.
  /^io: raw-socket: /,
  /: warning: |^engine died: removed \d+ VIPs?, sent priority 0$|^engine killed by signal 9 \(SIGKILL\)$/,
  /: another host, [0-9a-f:]{17}, answers for \S+ as well$|^Removed .*: an earlier run of holdfast installed it and did not remove it$/,
  // The next line comes again at each repeated question. FRR's macvlan answers until zebra removes its carrier, and on
  // a busy machine for longer.
  /: duplicate holder: 00:00:5e:00:0[12]:[0-9a-f]{2} .* as well: gratuitous ARP or NA sent again$/,
  /: Leaving → Initialize: /,
]

function warningsOf(daemon: Holdfast): string[] {
  return daemon.records
    .filter(({ level, msg }) => level >= WARN && !NEWS.some((pattern) => pattern.test(msg)))
    .map(({ msg }) => msg)
}
