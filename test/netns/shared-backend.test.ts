/**
 * Three equal nodes check one backend on another host, each at its own phase, and lose the backend at the same moment
 * (docs/healthchecks.md, "All nodes lose the same backend"). No node takes an address from another, neither at the death of the backend nor
 * at its return. One address uses events and polls, the other one polls alone. Assertions use the nodes that answer for the addresses. The
 * property test is test/property/shared-backend.test.ts.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { NOISE } from '../../src/lab/watch/history.ts'
import { settlesOn, startWitness } from '../../src/lab/watch/witness.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 15_000
const POLLED_VIP = '10.77.0.101'
/** Time in ms of one Active_Down_Interval and a poll. Any move happens before its end. */
const WATCHED = 5_000

describeNetns('a backend that three equal nodes check', () => {
  test('moves no address when it dies and when it comes back', async () => {
    const lab = labOfTest({ routers: 3, clients: ['client', 'observer', 'backend'] })
    const network = lab
    const backend = network.host('backend')
    const program = join(import.meta.dirname, '..', 'support', 'ready-ports.mjs')
    const serve = () => new LoggedProcess(network, backend, [process.execPath, program, network.directory, '8080'])
    const service = serve()
    await service.line(/listening/, WITHIN)
    const http = `http://${backend.address}:8080/`
    const healthchecks = [
      { name: 'eager', http, interval: '1s' },
      { name: 'polls', http, interval: '1s', events: false },
    ]
    const start = (position: number) => {
      const host = network.router(position)
      const peers = network.routers.map(({ address }) => address).filter((each) => each !== host.address)
      const router = (name: string, vrid: number, address: string, healthcheck: string) => ({
        ...{ name, vrid, interface: 'eth0', addresses: [address], priority: 40, advertisementInterval: '1s' },
        ...{ peers, track: [{ healthcheck, weight: 50 }], minHold: '0s' },
      })
      const virtualRouters = [router('eager', 51, LAB_VIP, 'eager'), router('polls', 52, POLLED_VIP, 'polls')]
      const plan = { host, priority: 40, intervalMs: 1_000, address: LAB_VIP }
      return new Holdfast(network, plan, {}, [], { healthchecks, virtualRouters })
    }
    const addresses = [LAB_VIP, POLLED_VIP]
    const witness = startWitness(network, { addresses, observer: network.host('observer'), client: network.client })
    const first = start(1)
    await first.ready()
    await settlesOn(witness, 'r1', 500, WITHIN)
    const all = [first, start(2), start(3)]
    const priorities = async () => {
      const snapshots = await Promise.all(all.map((daemon) => daemon.snapshot()))
      return snapshots.flatMap((one) => one?.routers.map(({ priority }) => priority.effective) ?? [])
    }
    const allHave = (priority: number, when: string) =>
      eventually(
        `six routers with ${priority} ${when}`,
        async () => (await priorities()).join() === Array(6).fill(priority).join(),
        { sight: priorities, every: 50 },
      )
    await allHave(90, 'while all is well')
    // A new Backup does not take over early, so the test waits before the backend dies.
    await sleep(WATCHED)

    const diedAt = monotonicMs()
    service.signal('SIGKILL')
    await allHave(40, 'after the backend died')
    await sleep(Math.max(0, diedAt + WATCHED - monotonicMs()))
    const backAt = monotonicMs()
    await serve().line(/listening/, WITHIN)
    await allHave(90, 'after it came back')
    await sleep(Math.max(0, backAt + WATCHED - monotonicMs()))

    for (const { address, holders, unanswered } of await witness.stop()) {
      const since = holders.filter(({ to }) => to > diedAt)
      const others = since.filter(({ holders: names, from, to }) => names.join() !== 'r1' && to - from >= NOISE)
      expect(others, `routers other than r1 that answered for ${address}`).toEqual([])
      expect(
        unanswered.filter(({ to }) => to > diedAt),
        `when nobody answered at ${address}`,
      ).toEqual([])
    }
    const moves = all.flatMap((daemon) =>
      daemon.records.filter(({ at, msg }) => at > diedAt && / → Active/.test(msg)).map(({ msg }) => msg),
    )
    expect(moves, 'transitions to Active in the logs of the daemons').toEqual([])
  })
})
