/** The neighbour table of a real kernel: reports about a peer that is lost and found, and changes that must not wake the engine. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { cable, makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { ip } from '../../src/lab/ip.ts'
import { describeNetns } from '../support/require.ts'
import { Agent, until } from './linux-fixture.ts'

const PEER = '198.51.100.2'
const PEER6 = 'fe80::2'

describeNetns('the watch of the neighbour table', () => {
  let here = ''
  let there = ''
  let four: Agent
  let six: Agent

  beforeAll(async () => {
    here = makeNamespace()
    there = makeNamespace()
    cable(here, there)
    ip(here, 'link add other0 type veth peer name other1')
    ip(here, 'link set other0 up')
    ip(here, 'link set other1 up')
    ;[four, six] = [new Agent(here), new Agent(here)]
    expect(await four.call('watchNeighbors', 7, 'ipv4')).toBeNull()
    expect(await six.call('watchNeighbors', 7, 'ipv6')).toBeNull()
  })
  afterAll(removeAll)
  beforeEach(() => {
    for (const agent of [four, six]) {
      agent.neighbors.length = 0
      agent.failures.length = 0
    }
  })

  const told = (agent: Agent, address: string, resolution: string) =>
    until(
      `${address} ${resolution}`,
      () => agent.neighbors,
      (news) => news.some((one) => one.address === address && one.resolution === resolution),
    )
  const use = (address: string) => ip(here, `neigh replace ${address} dev eth0 use`)

  test('an entry that the kernel itself resolves is reported, and its removal is reported', async () => {
    for (const [agent, peer] of [
      [four, PEER],
      [six, PEER6],
    ] as const) {
      use(peer)
      await told(agent, peer, 'resolved')
      expect(agent.neighbors[0], 'first report about the new entry').toEqual({ address: peer, resolution: 'resolved' })
      ip(here, `neigh del ${peer} dev eth0`)
      await told(agent, peer, 'unresolved')
    }
  })

  test('a peer that does not answer is reported as unresolved, and as resolved when it answers again', async () => {
    for (const table of ['ipv4', 'ipv6'])
      ip(here, `ntable change name ${table === 'ipv4' ? 'arp_cache' : 'ndisc_cache'} dev eth0 retrans 50`)
    ip(there, 'link set eth0 arp off')
    use(PEER)
    await told(four, PEER, 'unresolved')
    four.neighbors.length = 0
    ip(there, 'link set eth0 arp on')
    use(PEER)
    await told(four, PEER, 'resolved')
  })

  test('entries of other interfaces, of the other family and of a bridge are not reported', async () => {
    const mac = '02:00:00:00:00:20'
    ip(here, `neigh replace 198.51.100.50 lladdr ${mac} dev other0 nud reachable`)
    ip(here, `-6 neigh replace 2001:db8::50 lladdr ${mac} dev other0 nud reachable`)
    ip(here, `neigh replace 198.51.100.51 lladdr ${mac} dev eth0 nud reachable`)
    ip(here, `-6 neigh replace 2001:db8::51 lladdr ${mac} dev eth0 nud reachable`)
    await told(four, '198.51.100.51', 'resolved')
    await told(six, '2001:db8::51', 'resolved')
    expect([four.neighbors, six.neighbors].map((news) => news.map(({ address }) => address))).toEqual([
      ['198.51.100.51'],
      ['2001:db8::51'],
    ])
    expect([four.failures, six.failures]).toEqual([[], []])
  })
})
