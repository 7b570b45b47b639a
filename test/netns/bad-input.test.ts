/**
 * A real mismatched router: a router with our VRID, but another version, password or address list. If its advertisements are discarded, the
 * mismatched router wins no election and changes no state, and the client gets every answer. Status and log of both sides name the other
 * router by its address, and no router reports a missing Active.
 */
import { describe, expect } from 'vitest'
import { statusCommand } from '../../src/cli/status/status.ts'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import { type Extra, Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeNetns } from '../support/require.ts'
import { Turns } from '../support/turns.ts'

const OTHER_VIP = '10.77.0.101'
const PASSWORD = 'h0ldf4st'
const OTHER_PASSWORD = 'l1verp00l'
const PASSWORDS = [PASSWORD, OTHER_PASSWORD, OTHER_PASSWORD.slice(0, 8)]
const WITHIN = 15_000

type Side = { readonly intervalMs: number; readonly extra?: Extra; readonly address?: string }

const three = { intervalMs: 100 }
const two = { intervalMs: 1_000, extra: { version: 2 } }
const locked = (password: string): Side => ({
  intervalMs: 1_000,
  extra: { version: 2, authentication: { type: 'simple', password } },
})

/**
 * Cases: the configurations of both routers, the reason that holdfast reports for the mismatched router, and the reason that the other
 * router reports for holdfast.
 */
const cases: readonly [string, Side, Side, { reason: string; words: string }, { reason: string; words: string }][] = [
  [
    'version 2 at a version 3 router',
    three,
    two,
    { reason: 'version', words: 'speaks VRRPv2, this router VRRPv3' },
    { reason: 'version', words: 'speaks VRRPv3, this router VRRPv2' },
  ],
  [
    'another password',
    locked(PASSWORD),
    locked(OTHER_PASSWORD),
    { reason: 'auth-data', words: 'has another password' },
    { reason: 'auth-data', words: 'has another password' },
  ],
  [
    'no password',
    locked(PASSWORD),
    two,
    { reason: 'auth-type', words: 'uses another type of authentication' },
    { reason: 'auth-type', words: 'uses another type of authentication' },
  ],
  [
    'version 2 at another interval',
    two,
    { ...two, intervalMs: 2_000 },
    { reason: 'interval-mismatch', words: 'advertises at another interval' },
    { reason: 'interval-mismatch', words: 'advertises at another interval' },
  ],
  [
    'other addresses, with addressListCheck',
    { ...three, extra: { addressListCheck: true } },
    { ...three, extra: { addressListCheck: true } },
    { reason: 'address-list-mismatch', words: 'advertises other addresses' },
    { reason: 'address-list-mismatch', words: 'advertises other addresses' },
  ],
]

function start(where: Lab, position: number, priority: number, { address = LAB_VIP, extra, intervalMs }: Side) {
  return new Holdfast(where, { host: where.router(position), priority, intervalMs, address }, extra)
}

/** Beginning of the text in the log for each reason. */
const IN_LOG: Readonly<Record<string, string>> = {
  version: ': its VRRP version is ',
  'auth-data': ': its password is wrong',
  'auth-type': ': its type of authentication differs',
  'interval-mismatch': ': its advertisement interval differs',
  'address-list-mismatch': ': its addresses differ',
}

const active = (daemon: Holdfast) => daemon.becomes('Active', WITHIN)

async function names(daemon: Holdfast, mismatched: Holdfast, { reason, words }: { reason: string; words: string }) {
  const { address } = mismatched.plan.host
  const where = `holdfast on ${daemon.plan.host.name}`
  const found = await eventually(
    `${where} to name ${address} for ${reason}`,
    async () => (await daemon.router()).mismatchedRouters.find((one) => one.address === address),
    { sight: async () => (await daemon.router()).mismatchedRouters },
  )
  expect(found, `mismatched router ${address} in the status of ${where}`).toMatchObject({ reason, listenedTo: false })
  const { stdout } = await statusCommand(daemon.socket, { json: false })
  expect(stdout, `status of ${where}`).toContain(`MISMATCHED ROUTER: ${address} ${words} (${reason}): ignored, `)
  const said = daemon.records.filter(({ peer, reason: why }) => peer === address && why === reason)
  expect(said.map(({ msg }) => msg).at(0), `log of ${where} about ${address}`).toContain(IN_LOG[reason])
}

/** The tests wait for routers on labs of their own. */
const turns = new Turns(3)

describeNetns('a mismatched router with our VRID', () => {
  for (const [difference, ours, theirs, ofThem, ofUs] of cases)
    turns.test(`a router with ${difference} wins no election, and both sides name the mismatch`, async (context) => {
      const lab = labOfTest({ routers: 2 }, context.onTestFinished)
      // The responder starts before the daemon: the first probe must be answered.
      startResponder(lab, lab.router(1))
      const us = start(lab, 1, 100, ours)
      await active(us)
      const prober = new Prober(lab, lab.client, LAB_VIP)
      await prober.answeredBy('r1', WITHIN)
      const before = (await us.router()).counters.transitions

      const mismatched = start(lab, 2, 254, { ...theirs, address: OTHER_VIP })
      await active(mismatched)
      await names(us, mismatched, ofThem)
      await names(mismatched, us, ofUs)
      await sleep(activeDownIntervalMs(100, ours.intervalMs))

      const router = await us.router()
      expect([router.state, router.holder.self], 'our state and holder beside priority 254').toEqual(['Active', true])
      expect(router.counters.transitions, 'transitions of r1 since the mismatched router came').toEqual(before)
      expect(router.counters.received, 'advertisements that r1 accepted').toBe(0)
      expect(lab.holders(LAB_VIP), 'nodes whose kernel has the VIP of r1').toEqual(['r1'])
      expect((await prober.stop()).lost, 'probes lost since the mismatched router came').toBe(0)
      const told = [us, mismatched].flatMap(({ lines }) => lines.map(({ text }) => text))
      const { stdout } = await statusCommand(us.socket, { json: true })
      const leaks = [...told, stdout].filter((text) => PASSWORDS.some((password) => text.includes(password)))
      expect(leaks, 'log lines and status with a password in them').toEqual([])
    })

  turns.test(
    'beside a mismatched router, the Backup takes over from its own group, and names the router that it ignores',
    async (context) => {
      const lab = labOfTest({ routers: 3 }, context.onTestFinished)
      const checked = { ...three, extra: { addressListCheck: true } }
      const first = start(lab, 1, 200, checked)
      await active(first)
      const second = start(lab, 2, 100, checked)
      await second.ready()
      const mismatched = start(lab, 3, 254, { ...checked, address: OTHER_VIP })
      await active(mismatched)
      await names(second, mismatched, {
        reason: 'address-list-mismatch',
        words: 'advertises other addresses',
      })
      expect((await second.router()).holder, 'router that the Backup r2 follows').toMatchObject({
        address: '10.77.0.11',
      })

      first.killAll()
      await active(second)
      const took = await eventually(
        'r2 to log that it is Active',
        () => second.records.find(({ to }) => to === 'Active')?.msg,
        { sight: () => second.lines.slice(-3).map(({ text }) => text) },
      )
      expect(took, 'log line of r2 when it becomes Active').toMatch(
        /^vip: Backup → Active: [^,]+, discarding advertisements of 10\.77\.0\.13 \(address-list-mismatch\)$/,
      )
      expect(lab.holders(LAB_VIP), 'nodes whose kernel has the VIP after r1 died').toContain('r2')
      const router = await second.router()
      expect(router.mismatchedRouters, 'mismatched routers in the status of r2').toMatchObject([
        { address: '10.77.0.13', reason: 'address-list-mismatch' },
      ])
    },
  )

  describe('an advertisement with other addresses, without addressListCheck', () => {
    turns.test(
      'is accepted, as RFC 9568 §7.1 demands, and its sender is named as the Active and as a mismatched router',
      async (context) => {
        const lab = labOfTest({ routers: 2 }, context.onTestFinished)
        const us = start(lab, 1, 100, three)
        await active(us)
        const mismatched = start(lab, 2, 254, { ...three, address: OTHER_VIP })
        await active(mismatched)
        await us.becomes('Backup', WITHIN)
        const router = await us.router()
        expect(router.holder, 'holder in the status of r1').toMatchObject({ self: false, address: '10.77.0.12' })
        expect(router.mismatchedRouters, 'mismatched routers in the status of r1').toMatchObject([
          { address: '10.77.0.12', reason: 'address-list-mismatch', listenedTo: true },
        ])
        const { stdout } = await statusCommand(us.socket, { json: false })
        expect(stdout).toContain(
          'MISMATCHED ROUTER: 10.77.0.12 advertises other addresses (address-list-mismatch): accepted',
        )
      },
    )
  })
})
