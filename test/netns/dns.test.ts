/**
 * A client asks CoreDNS, whose Corefile `holdfast corednsmonitor` writes. The client asks for names of the cluster, of
 * its nodes and of the outside world, over UDP and TCP, in both orders of the families. CoreDNS is a real one
 * (scripts/coredns.sh); docs/dns.md has this table.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext } from 'vitest'
import { apiIntAnswers } from '../../src/cluster/decisions/dns/corefile-wishes.ts'
import { HOLDFAST } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { createAuthority } from '../support/certificates.ts'
import { DnsLab, type DnsLabOptions, DOMAIN } from '../support/dns-lab.ts'
import { describeDns } from '../support/require.ts'
import { Turns } from '../support/turns.ts'

const V4 = { apiVips: '10.77.0.100', ingressVips: '10.77.0.101' }
const V6 = { apiVips: 'fd00:77::100', ingressVips: 'fd00:77::101' }
const both = (first: typeof V4, second: typeof V4): DnsLabOptions => ({
  apiVips: `${first.apiVips},${second.apiVips}`,
  ingressVips: `${first.ingressVips},${second.ingressVips}`,
})

const READY_PORTS = join(import.meta.dirname, '..', 'support', 'ready-ports.mjs')
/** The tests wait for CoreDNS and corednsmonitor on labs of their own. */
const turns = new Turns(4)

function labOf({ onTestFinished }: TestContext, options: DnsLabOptions): DnsLab {
  const made = new DnsLab(options)
  onTestFinished(() => made.destroy())
  return made
}

async function started(context: TestContext, options: DnsLabOptions): Promise<DnsLab> {
  const made = labOf(context, options)
  made.cluster.register({ name: 'm0', addresses: ['10.77.0.11', 'fd00:77::11'] })
  made.cluster.register({ name: 'w0.lan', addresses: ['10.77.0.21'], roles: ['worker'] })
  await made.cluster.apiUp()
  await made.startUpstreams()
  made.startMonitor()
  await made.startCoredns()
  return made
}

/** Starts the node with engine and agent as well. The agent reads the report of corednsmonitor. */
async function reporting(context: TestContext): Promise<DnsLab> {
  const made = labOf(context, { ...V4, reports: true })
  made.cluster.register({ name: 'n1', addresses: [made.node.address] })
  made.cluster.register({ name: 'm0', addresses: ['10.77.0.31'] })
  made.wish({})
  await made.cluster.apiUp()
  await made.startUpstreams()
  made.startMonitor()
  made.startAgent()
  await made.startCoredns()
  await made.answers(`m0.${DOMAIN}`, 'A', 'NOERROR 10.77.0.31')
  return made
}

/** Returns the answers to A, AAAA and ANY, over UDP and TCP, which must be the same. */
function matrix(made: DnsLab, name: string): readonly string[] {
  return ['A', 'AAAA', 'ANY'].map((type) => {
    const [udp, tcp] = [made.dig(name, type, '+notcp'), made.dig(name, type, '+tcp')]
    return udp === tcp ? udp : `UDP: ${udp}, TCP: ${tcp}`
  })
}

describeDns('CoreDNS with the Corefile of corednsmonitor', () => {
  for (const [name, options, api, apps] of [
    [
      'an IPv4 cluster',
      V4,
      ['NOERROR 10.77.0.100', 'NOERROR', 'NOERROR 10.77.0.100'],
      ['NOERROR 10.77.0.101', 'NOERROR', 'NOERROR 10.77.0.101'],
    ],
    [
      'an IPv6 cluster',
      V6,
      ['NOERROR', 'NOERROR fd00:77::100', 'NOERROR fd00:77::100'],
      ['NOERROR', 'NOERROR fd00:77::101', 'NOERROR fd00:77::101'],
    ],
    [
      'two families, IPv4 first',
      both(V4, V6),
      ['NOERROR 10.77.0.100', 'NOERROR fd00:77::100', 'NOERROR 10.77.0.100'],
      ['NOERROR 10.77.0.101', 'NOERROR fd00:77::101', 'NOERROR 10.77.0.101'],
    ],
    [
      'two families, IPv6 first',
      both(V6, V4),
      ['NOERROR 10.77.0.100', 'NOERROR fd00:77::100', 'NOERROR fd00:77::100'],
      ['NOERROR 10.77.0.101', 'NOERROR fd00:77::101', 'NOERROR fd00:77::101'],
    ],
  ] as const)
    turns.test(`answers A, AAAA and ANY over UDP and TCP in ${name}`, async (context) => {
      const made = await started(context, options)
      await made.answers(`m0.${DOMAIN}`, 'A', 'NOERROR 10.77.0.11')
      expect(matrix(made, `api.${DOMAIN}`), 'api').toEqual(api)
      expect(matrix(made, `api-int.${DOMAIN}`), 'api-int').toEqual(api)
      expect(matrix(made, `x.apps.${DOMAIN}`), 'x.apps').toEqual(apps)
      expect(matrix(made, `a.b.apps.${DOMAIN}`), 'a.b.apps').toEqual(apps)
      expect(matrix(made, `m0.${DOMAIN}`).slice(0, 2), 'm0').toEqual(['NOERROR 10.77.0.11', 'NOERROR fd00:77::11'])
      expect(matrix(made, 'm0').slice(0, 2), 'the short name').toEqual(['NOERROR 10.77.0.11', 'NOERROR fd00:77::11'])
      expect(matrix(made, `w0.${DOMAIN}`).slice(0, 2), 'w0').toEqual(['NOERROR 10.77.0.21', 'NOERROR'])
      expect(made.dig('outside.example', 'A'), 'outside').toBe('NOERROR 198.51.100.1')
      expect(made.dig(`missing.${DOMAIN}`, 'A'), 'an unknown name of the cluster').toBe('NXDOMAIN')
      // A name that only looks like one of the cluster belongs to others.
      expect(made.dig(`api.${DOMAIN}.outside.example`, 'A')).toBe('NOERROR 198.51.100.1')
    })

  turns.test(
    'asks the second upstream server after SERVFAIL of the first, and when the first is gone',
    async (context) => {
      const made = await started(context, V4)
      expect(made.dig('servfail.example', 'A')).toBe('NOERROR 198.51.100.2')
      made.upstreams[0]?.signal('SIGKILL')
      await made.upstreams[0]?.exited
      await made.answers('other.outside.example', 'A', 'NOERROR 198.51.100.2', 15_000, '+time=10')
    },
  )

  turns.test('answers the name of a new node, and no longer that of a removed one', async (context) => {
    const made = await started(context, V4)
    await made.answers(`m0.${DOMAIN}`, 'A', 'NOERROR 10.77.0.11')
    made.cluster.register({ name: 'm1', addresses: ['10.77.0.12'] })
    made.cluster.leave('w0.lan')
    await made.answers(`m1.${DOMAIN}`, 'A', 'NOERROR 10.77.0.12')
    await made.answers(`w0.${DOMAIN}`, 'A', 'NXDOMAIN')
    // A node may get another address under the same name.
    made.cluster.register({ name: 'm1', addresses: ['10.77.0.13'] })
    await made.answers(`m1.${DOMAIN}`, 'A', 'NOERROR 10.77.0.13', 80_000)
  })
})

describeDns('corednsmonitor', () => {
  // The longest test starts first.
  turns.test(
    'leads api-int to an external load balancer after three answers of kube-api, and keeps it',
    async (context) => {
      const made = labOf(context, { ...V4, flags: ['--api-port=7443'] })
      const place = made.cluster.lab.client
      const authority = createAuthority()
      const { cert, key } = authority.issue('DNS:api-int')
      authority.remove()
      writeFileSync(join(made.folder, 'cert.pem'), cert)
      writeFileSync(join(made.folder, 'key.pem'), key)
      made.cluster.register({ name: 'm0', addresses: ['10.77.0.11'] })
      made.wish({ apiintIpAddress: place.address })
      await made.cluster.apiUp()
      made.startMonitor()
      await made.startCoredns()
      // No server answers at the address yet, so the Corefile has the VIP.
      await made.monitor?.line(/"event":"corefileWritten"/, 40_000)
      const answers = () => apiIntAnswers(readFileSync(made.corefile, 'utf8'), DOMAIN)
      expect(answers()).toEqual(['10.77.0.100'])
      const balancer = new LoggedProcess(made.cluster.lab, place, ['node', READY_PORTS, made.folder, '7443s'])
      await made.monitor?.line(/"event":"apiIntMoved"/, 60_000)
      await eventually('the Corefile with the load balancer', () => answers().join() === place.address, {
        sight: answers,
        within: 10_000,
      })
      await made.answers(`api-int.${DOMAIN}`, 'A', `NOERROR ${place.address}`)
      expect(matrix(made, `api.${DOMAIN}`), 'api').toEqual(['NOERROR 10.77.0.100', 'NOERROR', 'NOERROR 10.77.0.100'])
      expect(made.dig(`api-int.${DOMAIN}`, 'AAAA'), 'the other family').toBe('NOERROR')
      // The load balancer is silent, corednsmonitor starts again, and the address stays.
      balancer.signal('SIGKILL')
      await balancer.exited
      made.monitor?.signal('SIGTERM')
      await made.monitor?.exited
      made.cluster.register({ name: 'm1', addresses: ['10.77.0.12'] })
      made.startMonitor()
      await made.monitor?.line(/"event":"corefileWritten"/, 40_000)
      expect(answers()).toEqual([place.address])
      // Without the wish, the VIP is back.
      made.wish({})
      await made.monitor?.line(/"event":"apiIntMoved"/, 40_000)
      await eventually('the Corefile with the VIP', () => answers().join() === '10.77.0.100', {
        sight: answers,
        within: 10_000,
      })
    },
  )

  turns.test(
    'writes no Corefile while the API is silent, and keeps the one in force when all nodes are gone',
    async (context) => {
      const made = labOf(context, V4)
      made.startMonitor()
      await made.monitor?.line(/nodes of the cluster are not known yet/, 60_000)
      expect(existsSync(made.corefile)).toBe(false)
      made.cluster.register({ name: 'm0', addresses: ['10.77.0.11'] })
      await made.cluster.apiUp()
      await made.monitor?.line(/"event":"corefileWritten"/, 40_000)
      const text = readFileSync(made.corefile, 'utf8')
      made.cluster.leave('m0')
      made.serversAre()
      await made.monitor?.line(/no DNS server outside of this node/, 60_000)
      expect(readFileSync(made.corefile, 'utf8')).toBe(text)
    },
  )

  turns.test(
    'follows each toggle of HostedNetServices without a restart of CoreDNS, and the agent tells so in the conditions',
    async (context) => {
      const made = await reporting(context)
      const answered = (node: string, apps: string) => async () => {
        await made.answers(`m0.${DOMAIN}`, 'A', node, 80_000)
        await made.answers(`x.apps.${DOMAIN}`, 'A', apps, 80_000)
        expect(matrix(made, `api-int.${DOMAIN}`), 'api-int').toEqual([
          'NOERROR 10.77.0.100',
          'NOERROR',
          'NOERROR 10.77.0.100',
        ])
        await made.condition('Progressing', 'no change is in progress')
      }
      const [node, apps, gone] = ['NOERROR 10.77.0.31', 'NOERROR 10.77.0.101', 'NXDOMAIN']
      await answered(node, apps)()
      made.wish({ nodesResolution: 'Disabled' })
      await answered(gone, apps)()
      made.wish({ appsResolution: 'Disabled' })
      await answered(node, gone)()
      made.wish({ nodesResolution: 'Disabled', appsResolution: 'Disabled' })
      await answered(gone, gone)()
      made.wish({})
      await answered(node, apps)()
      // Without a report, the agent does not know who carries the toggles out.
      made.monitor?.signal('SIGTERM')
      await made.monitor?.exited
      made.wish({ nodesResolution: 'Disabled' })
      await made.condition(
        'Progressing',
        'no holdfast corednsmonitor of this node reports: dns.nodesResolution=Disabled (CoreDNS)',
      )
    },
  )

  turns.test(
    'keeps a good Corefile if the template is wrong, and reports that until the template is right',
    async (context) => {
      const made = await reporting(context)
      const text = readFileSync(made.corefile, 'utf8')
      const template = join(made.folder, 'Corefile.tmpl')
      const good = readFileSync(template, 'utf8')
      const kept = 'CoreDNS on this node keeps its Corefile: CoreDNS would refuse the Corefile: '
      writeFileSync(template, good.replace('cache 30', 'cash 30'))
      made.cluster.register({ name: 'm1', addresses: ['10.77.0.12'] })
      await made.condition('Degraded', kept)
      expect(readFileSync(made.corefile, 'utf8')).toBe(text)
      expect(statSync(made.corefile).mode & 0o777).toBe(statSync(template).mode & 0o777)
      writeFileSync(template, good)
      await made.condition('Degraded', kept, false)
    },
  )

  turns.test('says that another program has the port of CoreDNS', async (context) => {
    const made = labOf(context, V4)
    const other = join(made.folder, 'other')
    writeFileSync(other, '. {\n    errors\n    template ANY ANY . {\n        rcode REFUSED\n    }\n}\n')
    await made.startOther(other)
    made.cluster.register({ name: 'm0', addresses: ['10.77.0.11'] })
    await made.cluster.apiUp()
    made.startMonitor()
    await made.monitor?.line(/another program has port 53/, 60_000)
  })

  turns.test(
    'with --once writes a Corefile without an API, and leaves an existing one without the nodes',
    async (context) => {
      const made = labOf(context, V4)
      const once = async () =>
        (
          await new LoggedProcess(made.cluster.lab, made.node, [HOLDFAST, 'corednsmonitor', ...made.words, '--once'])
            .exited
        ).code
      expect(await once()).toBe(0)
      const text = readFileSync(made.corefile, 'utf8')
      expect(text).toContain('10.77.0.100')
      made.serversAre('9.9.9.9')
      expect(await once()).toBe(0)
      expect(readFileSync(made.corefile, 'utf8')).toBe(text)
    },
  )

  turns.test(
    'a node with --nodes-from has one watch of the nodes: corednsmonitor follows those that the agent stores',
    async (context) => {
      const made = labOf(context, { ...V4, fromAgent: true })
      const { cluster } = made
      cluster.register({ name: 'n1', addresses: [made.node.address] })
      cluster.register({ name: 'w0.lan', addresses: ['10.77.0.21'], roles: ['worker'] })
      await cluster.apiUp()
      await made.startUpstreams()
      made.startMonitor()
      await made.monitor?.line(/"agentNodesNotUsed".*stored no nodes yet/, 60_000)
      made.startAgent()
      await made.startCoredns()
      await made.answers(`w0.${DOMAIN}`, 'A', 'NOERROR 10.77.0.21')
      cluster.register({ name: 'w0.lan', addresses: ['10.77.0.22'], roles: ['worker'] })
      await made.answers(`w0.${DOMAIN}`, 'A', 'NOERROR 10.77.0.22')
      expect(cluster.api.asked('list', '/api/v1/nodes')).toHaveLength(1)
    },
  )

  turns.test(
    'with --nodes-from, corednsmonitor on a node without an agent watches the nodes itself after 30 s',
    async (context) => {
      const made = labOf(context, { ...V4, fromAgent: true })
      const { cluster } = made
      cluster.register({ name: 'n1', addresses: [made.node.address] })
      cluster.register({ name: 'w0.lan', addresses: ['10.77.0.21'], roles: ['worker'] })
      await cluster.apiUp()
      await made.startUpstreams()
      made.startMonitor()
      await made.monitor?.line(/"agentNodesNotUsed".*stored no nodes for 30 s/, 60_000)
      await made.startCoredns()
      await made.answers(`w0.${DOMAIN}`, 'A', 'NOERROR 10.77.0.21')
    },
  )
})
