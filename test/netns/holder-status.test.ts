/**
 * Three real engines in three namespaces, the status task of an agent for each engine, and the stand-in of the Kubernetes API. When the
 * holder is killed, the status names the new holder. When a second node gets the address by hand, the status names both nodes.
 */
import { afterEach, expect, test } from 'vitest'
import { CONTROL_PLANE_LABELS } from '../../src/cluster/decisions/engine/upstream-names.ts'
import type { Circumstances } from '../../src/cluster/decisions/status/finding.ts'
import { GROUP, PLURAL, readPublished, VERSION } from '../../src/cluster/decisions/status/published-status.ts'
import { HolderDuty } from '../../src/cluster/runtime/status/holder-duty.ts'
import { StatusApi } from '../../src/cluster/runtime/status/status-api.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { startResponder } from '../../src/lab/watch/probe.ts'
import { address } from '../../src/wire/address.ts'
import { sendTo } from '../support/kube-api/send.ts'
import { KubeApi } from '../support/kube-api/server.ts'
import { describeNetns } from '../support/require.ts'

const COLLECTION = `${GROUP}/${VERSION}/${PLURAL}`
const INTERVAL = 100
/** Limits in ms. The test judges order and outcome, and prints the durations. */
const WITHIN = { within: 15_000, every: 10 }
const AROUND: Circumstances = {
  ...{
    probe: { result: 'answers' },
    ingressDisabled: false,
    progressing: undefined,
    refused: [],
    notManaged: undefined,
  },
}

let lab: Lab | undefined
let api: KubeApi | undefined
const duties: HolderDuty[] = []
afterEach(async () => {
  for (const duty of duties.splice(0)) duty.end()
  await api?.stop()
  lab?.destroy()
  lab = undefined
})

describeNetns('the status in the API about the holders of an address', () => {
  test('names the new holder after the old one is killed, and both nodes while the dead node has the address again', {
    timeout: 90_000,
  }, async () => {
    const built = createLab({ routers: 3 })
    lab = built
    const server = await new KubeApi({ kinds: { [COLLECTION]: 'HostedNetServices' } }).start()
    api = server
    const head = { apiVersion: `${GROUP}/${VERSION}`, kind: 'HostedNetServices', metadata: { name: 'cluster' } }
    server.store.put(COLLECTION, head)
    const nodes = built.routers.map((host) => ({
      ...{ name: host.name, labels: { [CONTROL_PLANE_LABELS[0]]: '' }, annotations: {}, kubeletVersion: 'v1' },
      addresses: [{ type: 'InternalIP', address: host.address }],
    }))
    const addresses = built.routers.map((host) => host.address)
    const daemons: Holdfast[] = []
    for (const [i, host] of built.routers.entries()) {
      startResponder(built, host)
      const unicastPeers = addresses.filter((other) => other !== host.address)
      const plan = { host, priority: 200 - 50 * i, intervalMs: INTERVAL, address: LAB_VIP, unicastPeers }
      const daemon = new Holdfast(built, plan)
      await daemon.ready()
      daemons.push(daemon)
      const duty = new HolderDuty({
        ...{ self: host.name, vips: [{ address: address(LAB_VIP), service: 'api', index: 0 }], socket: daemon.socket },
        ...{ api: new StatusApi(sendTo(server)), circumstances: () => AROUND },
        ...{ onProbeNeeded: () => {}, onNews: () => {} },
      })
      duty.nodesAre(nodes)
      duty.objectIs(server.store.get(COLLECTION, 'cluster'))
      duties.push(duty)
    }
    server.store.subscribe(({ collection, object }) => {
      if (collection === COLLECTION) for (const duty of duties) setTimeout(() => duty.objectIs(object), 5)
    })
    const published = () => readPublished(server.store.get(COLLECTION, 'cluster'))
    const degraded = () => published()?.conditions.find(({ type }) => type === 'Degraded')
    const available = () => published()?.conditions.find(({ type }) => type === 'Available')
    const owned = (by: string) =>
      eventually(
        `the status to name ${by}`,
        () =>
          published()?.apiServerInternalIpOwner === by &&
          available()?.message === `API ${LAB_VIP} is held by ${by}` &&
          degraded()?.status === 'False',
        { sight: published, ...WITHIN },
      )
    await owned('r1')

    // All processes of the node die, and so does its agent.
    const killedAt = monotonicMs()
    duties[0]?.end()
    daemons[0]?.killAll()
    await owned('r2')
    const took = monotonicMs() - killedAt
    const events = () => server.store.list('v1/events', 'default').map(({ message }) => String(message))
    const moved = `API ${LAB_VIP} moved from r1 to r2: r1 fell silent (activeSilent)`
    await eventually('the Event of the failover', () => events().includes(moved), { sight: events, ...WITHIN })

    // A living engine removes an address that was added by hand, so the status must not name a duplicate.
    const give = (action: 'add' | 'delete', i: number) =>
      ip(built.router(i), `address ${action} ${LAB_VIP}/32 dev eth0`)
    await eventually('r1 to have lost it', () => !built.holders(LAB_VIP).includes('r1'), {
      sight: () => built.holders(LAB_VIP),
      ...WITHIN,
    })
    give('add', 3)
    const alone = () => built.holders(LAB_VIP).join() === 'r2'
    await eventually('r3 to have taken it off again', alone, { sight: () => built.holders(LAB_VIP), ...WITHIN })

    // On the node with the dead engine, the added address stays.
    const givenAt = monotonicMs()
    give('add', 1)
    const both = () => degraded()?.message === `API ${LAB_VIP} is held by r1 and r2`
    await eventually('Degraded to name both', both, { sight: published, ...WITHIN })
    const found = monotonicMs() - givenAt
    expect(degraded()).toMatchObject({ status: 'True', reason: 'SeveralHolders' })
    expect(published()?.holders).toMatchObject([{ node: 'r2', alsoAnswering: ['r1'] }])
    if (process.env.HOLDFAST_TELL !== undefined)
      console.log(JSON.stringify({ took, found, status: published(), events: events() }, null, 1))
    give('delete', 1)
    await owned('r2')
    // The status has one entry for the address, however many nodes have held it.
    expect(published()?.holders).toHaveLength(1)
  })
})
