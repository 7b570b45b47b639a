/**
 * `holdfast corednsmonitor` and the API: the monitor follows the phase of a switch that an operator stored, and asks further
 * servers if the first one is dead. The file of its report is read as the agent reads it.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { apiIntByOperator } from '../../../src/cluster/decisions/dns/api-int.ts'
import { GROUP, PLURAL, VERSION } from '../../../src/cluster/decisions/status/published-status.ts'
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { dnsReportOf } from '../../../src/cluster/runtime/dns/dns-report-file.ts'
import { DnsWishWatch } from '../../../src/cluster/runtime/dns/dns-wishes.ts'
import { withVips } from '../../../src/cluster/runtime/dns/vip-access.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { address } from '../../../src/wire/address.ts'
import { createAuthority } from '../../support/certificates.ts'
import { KubeApi } from '../../support/kube-api/server.ts'

const OBJECTS = `${GROUP}/${VERSION}/${PLURAL}`
const [VIP, LB, OTHER] = [address('10.9.0.100'), address('10.9.0.200'), address('10.9.0.201')]
/** Answers as a DNS server that does not know the name. */
const unresolved: LookupFunction = (_, __, done) =>
  void setImmediate(done, Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), '')
const SOON = { within: 10_000, every: 10 }

/** A monitor whose Corefile leads api-int to `apiInt`. */
async function monitor(apiInt: typeof LB | undefined) {
  const api = await new KubeApi().start()
  const failures: string[] = []
  const ending = new AbortController()
  const wishes = new DnsWishWatch({
    client: new ClusterClient(async () => [{ server: `http://127.0.0.1:${api.port}`, options: {} }]),
    ...{ apiVips: [VIP], ingressVips: [], apiPort: 9, apiInt },
    onFailure: ({ message }) => failures.push(message),
  })
  const over = wishes.watch(ending.signal)
  onTestFinished(async () => {
    ending.abort()
    wishes.end()
    await over
    await api.stop()
  })
  /** Stores an object, and returns the address of api-int after the monitor has read it. */
  const put = async (phase: string | undefined, stored: string | undefined) => {
    // The toggle changes with each object, and so shows that the object was read.
    const areNodes = wishes.wishes?.nodes === false
    api.store.put(OBJECTS, {
      ...{ apiVersion: `${GROUP}/${VERSION}`, kind: 'HostedNetServices', metadata: { name: 'cluster' } },
      spec: { dns: { nodesResolution: areNodes ? 'Enabled' : 'Disabled' } },
      status:
        phase === undefined
          ? {}
          : { loadBalancer: { phase, since: '2026-11-22T12:00:00Z', apiInt: stored, haproxy: 'Running' } },
    })
    await eventually('the object', () => wishes.wishes?.nodes === areNodes, { sight: () => failures, ...SOON })
    return wishes.wishes?.apiInt
  }
  return { api, put, wishes }
}

test('the phase of an operator outlives the object, so a deletion does not lead the names to the VIP', async () => {
  const { api, put, wishes } = await monitor(LB)
  expect(await put('External', LB)).toBe(LB)
  api.store.remove(OBJECTS, 'cluster')
  // A deleted object means the defaults.
  await eventually('the deletion', () => wishes.wishes?.nodes === true, { sight: () => wishes.wishes, ...SOON })
  expect(wishes.wishes?.apiInt).toBe(LB)
  // The new object has no phase, and the defaults.
  expect(await put(undefined, undefined)).toBe(LB)
  expect(await put('StartingHAProxy', LB)).toBe(LB)
  expect(await put('ReturningNames', undefined)).toBeUndefined()
})

test('a stored address that the spec does not have is not followed', async () => {
  const { put } = await monitor(undefined)
  expect(await put('External', OTHER)).toBeUndefined()
})

test.each([
  ['kube-api answers at the address of the spec', undefined, LB, { kind: 'answers', place: LB, failures: 0 }, LB],
  ['the same in the place of another one', OTHER, LB, { kind: 'answers', place: LB, failures: 0 }, LB],
  ['kube-api is asked', undefined, LB, { kind: 'asking', place: LB, answers: 2, failed: undefined }, undefined],
  ['the spec has another address', OTHER, LB, { kind: 'answers', place: OTHER, failures: 0 }, OTHER],
  ['the spec is refused', undefined, LB, { kind: 'refused', wished: LB, why: '' }, undefined],
  ['the spec has no address', undefined, LB, { kind: 'own' }, undefined],
  ['the address in force stays', LB, LB, { kind: 'own' }, LB],
  ['the names return', LB, undefined, { kind: 'answers', place: LB, failures: 0 }, undefined],
] as const)('an address that an operator stored: %s', (_, inForce, stored, balancer, expected) => {
  expect(apiIntByOperator(inForce, stored, balancer)).toBe(expected)
})

test('if the server of the kubeconfig is dead, the API is asked at a VIP, with the name in the kubeconfig', async () => {
  const authority = createAuthority()
  const api = await new KubeApi({ tls: authority.issue('DNS:api-int.ostest.example.com') }).start()
  onTestFinished(async () => {
    authority.remove()
    await api.stop()
  })
  const ca = readFileSync(authority.caFile)
  const asked = (name: string, vips = [address('127.0.0.1')]) => {
    const access = async () => [{ server: `https://${name}:${api.port}`, options: { ca, lookup: unresolved } }]
    return new ClusterClient(withVips(access, vips)).ask({ path: '/api/v1/nodes' })
  }
  await expect(asked('api-int.ostest.example.com')).resolves.toMatchObject({ items: [] })
  await expect(asked('api-int.ostest.example.com', [])).rejects.toThrow('ENOTFOUND')
  // The certificate is verified.
  await expect(asked('api-int.other.example.com')).rejects.toThrow()
})

test('the servers at the VIPs come last, keep the port, and have no name if the kubeconfig has an address', async () => {
  const vips = [VIP, address('fd00::100')]
  const at = async (server: string, options = {}) => {
    const endpoints = await withVips(async () => [{ server, options }], vips)()
    return endpoints.map((one) => `${one.server} ${'servername' in one.options ? one.options.servername : '-'}`)
  }
  expect(await at('https://api-int.x.example:6443')).toEqual([
    'https://api-int.x.example:6443 -',
    'https://10.9.0.100:6443 api-int.x.example',
    'https://[fd00::100]:6443 api-int.x.example',
  ])
  expect((await at('https://[fd00::5]:6443'))[1]).toBe('https://10.9.0.100:6443 -')
  expect((await at('https://10.9.0.9:6443', { servername: 'api.x' }))[1]).toBe('https://10.9.0.100:6443 api.x')
})

test('a report whose file cannot be looked at is none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hf-report-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'report')
  symlinkSync(file, file)
  expect(dnsReportOf(file)).toBeUndefined()
})
