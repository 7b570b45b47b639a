/**
 * ingressHa: Disabled with two real engines to which the agent's own text is handed (O9): the ingress address is given up with
 * priority 0 and goes to nobody who has been told the same, the API's stays where it is, and it comes back.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { handOver } from '../../src/cli/configure.ts'
import { packageRoot } from '../../src/cli/demo-probe.ts'
import { statusCommand } from '../../src/cli/status.ts'
import type { Snapshot } from '../../src/daemon/snapshot.ts'
import type { Desired } from '../../src/kubernetes/desired.ts'
import { documentText } from '../../src/kubernetes/document.ts'
import { readIntent, withIntent } from '../../src/kubernetes/intent.ts'
import { address } from '../../src/wire/address.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../support/lab.ts'
import { LoggedProcess } from '../support/logged-process.ts'
import { describeNetns } from '../support/require.ts'
import { eventually } from '../support/wait.ts'

const BIN = join(packageRoot(), 'bin', 'holdfast')
const INGRESS_VIP = '10.77.0.101'
const WITHIN = { within: 20_000, every: 20 }

let lab: Lab | undefined
afterEach(() => {
  lab?.destroy()
  lab = undefined
})

/** What the agent of a node would hand over. */
function desiredOn(host: Host, other: Host): Desired {
  const source = address(host.address)
  const shared = { index: 0, prefixLength: 32, interface: 'eth0', source, sourceFile: undefined, password: 'c_vip' }
  const peers = [address(other.address)]
  return {
    ...{ clusterName: 'c', role: 'controlPlane', groups: [] },
    instances: [
      {
        ...shared,
        name: 'c_API_0',
        service: 'api',
        vip: address(LAB_VIP),
        vrid: 14,
        priority: 40,
        peers,
        tracked: false,
      },
      {
        ...shared,
        name: 'c_INGRESS_0',
        service: 'ingress',
        vip: address(INGRESS_VIP),
        vrid: 93,
        priority: 20,
        peers,
        tracked: false,
      },
    ],
  }
}

async function snapshotAt(socket: string): Promise<Snapshot | undefined> {
  const { exitCode, stdout } = await statusCommand(socket, { json: true })
  if (exitCode !== 0) return undefined
  const snapshot: Snapshot = JSON.parse(stdout)
  return snapshot
}

describeNetns('ingress that is switched off', () => {
  test('is handed over with priority 0 on the node that has it, gone on both, and back', {
    timeout: 120_000,
  }, async () => {
    const network = createLab({ routers: 2 })
    lab = network
    const engines = network.routers.map((host) => {
      const directory = join(network.directory, `agent-${host.name}`)
      mkdirSync(directory, { recursive: true })
      const place = ['-c', join(directory, 'managed.yaml'), '--run-directory', directory, '--listen', 'false']
      return {
        host,
        socket: join(directory, 'holdfast.sock'),
        process: new LoggedProcess(network, host, [BIN, 'run', '--managed', ...place]),
      }
    })
    const [first, second] = engines
    if (first === undefined || second === undefined) throw new Error('Expected two engines')
    for (const { process, socket } of engines)
      await eventually(
        'an engine to answer',
        () => snapshotAt(socket),
        () => process.lines.slice(-5),
        WITHIN,
      )

    const tell = async (one: typeof first, other: typeof first, spec: unknown) => {
      const intent = readIntent({ spec })
      if ('problems' in intent) throw new Error(intent.problems.join())
      const configuration = documentText(withIntent(desiredOn(one.host, other.host), intent))
      const { status, body } = await handOver(one.socket, configuration, { by: 'test' })
      expect([status, body]).toEqual([200, expect.anything()])
    }
    const holders = (vip: string) => network.holders(vip).join()
    const held = (vip: string, by: string, occasion: string) =>
      eventually(
        `${vip} to be held by "${by}" ${occasion}`,
        () => holders(vip) === by,
        () => holders(vip),
        WITHIN,
      )

    await tell(second, first, {})
    await held(INGRESS_VIP, 'r2', 'which is alone')
    await held(LAB_VIP, 'r2', 'which is alone')
    await tell(first, second, {})
    const ingressOf = async (one: typeof first) =>
      (await snapshotAt(one.socket))?.routers.find(({ name }) => name === 'c_INGRESS_0')
    await eventually(
      'r1 to follow r2',
      async () => (await ingressOf(first))?.owner.address === second.host.address,
      () => ingressOf(first),
      WITHIN,
    )

    // The node that has it is told first: whoever still takes part hears priority 0, and takes it at once.
    await tell(second, first, { ingressHa: 'Disabled' })
    await held(INGRESS_VIP, 'r1', 'as long as it was not told')
    expect(await ingressOf(first)).toMatchObject({
      state: 'Active',
      reason: 'activeReleased',
      counters: { receivedZero: expect.any(Number) },
    })
    expect((await ingressOf(first))?.counters.receivedZero).toBeGreaterThan(0)
    expect(holders(LAB_VIP)).toBe('r2')
    await tell(first, second, { ingressHa: 'Disabled' })
    await held(INGRESS_VIP, '', 'when both were told')
    for (const { socket } of engines)
      expect((await snapshotAt(socket))?.routers.filter(({ departing }) => !departing).map(({ name }) => name)).toEqual(
        ['c_API_0'],
      )
    expect(holders(LAB_VIP)).toBe('r2')

    await tell(first, second, { ingressHa: 'Enabled' })
    await held(INGRESS_VIP, 'r1', 'when it is switched on again')
    expect(holders(LAB_VIP)).toBe('r2')
  })
})
