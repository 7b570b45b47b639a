/**
 * `holdfast agent` with a real API server and the rights of deploy/kubernetes. The audit log of the API server has the requests
 * of the agents, and the peers of their engines show which nodes the agents know. After each accident the agents know the
 * cluster again without a restart, and one node has the address.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import type { LabNode } from '../support/cluster-lab.ts'
import { ACCOUNT, AgentLab, must, WAIT } from './agent-lab.ts'
import { API_PROGRAMS, clusterPrograms, DEPLOY } from './real-api.ts'
import { describeCluster } from './require-cluster.ts'

const MINUTES = 60_000
const RBAC = join(DEPLOY, 'rbac.yaml')
const versionIn = (uri = '') => Number(new URLSearchParams(uri.split('?')[1]).get('resourceVersion'))
const short = ({ verb, code }: { verb: string; code: number }) => `${verb} ${code}`

describeCluster(
  'the agent with a real API server',
  () => {
    let made: AgentLab
    let first: LabNode
    let second: LabNode
    let missing = 0
    let looks: NodeJS.Timeout

    beforeAll(async () => {
      made = new AgentLab(clusterPrograms(API_PROGRAMS) ?? '')
      await made.api.start()
      made.prepare()
      ;[first, second] = [made.node(1), made.node(2)]
      for (const node of [first, second]) {
        node.startEngine()
        node.startAgent()
      }
      for (const node of [first, second]) await made.peers(node, 2)
      await made.owner('after the start')
    }, 5 * MINUTES)
    afterAll(() => made?.destroy())

    beforeEach(async () => {
      for (const node of [first, second]) await made.state(node, 'watching')
      missing = 0
      clearInterval(looks)
      looks = setInterval(() => {
        if (made.lab.holders(LAB_VIP).length === 0) missing++
      }, 200)
      return () => clearInterval(looks)
    })

    test('the rights of deploy/kubernetes are enough, and each agent lists the nodes once', async () => {
      const asked = made.api.asked()
      // 404: this cluster has no Infrastructure.
      expect(asked.filter(({ code }) => ![200, 201, 404].includes(code))).toEqual([])
      expect(new Set(asked.map(({ from, user }) => `${from} ${user}`))).toEqual(
        new Set([`${first.host.address} ${ACCOUNT}`, `${second.host.address} system:node:n2`]),
      )
      for (const node of [first, second])
        expect((await made.nodeRequests(node)).map(short)).toEqual(['list 200', 'watch 200'])
    })

    test(
      'a watch whose connection was cut continues from its last version, and has missed nothing',
      async () => {
        const before = (await made.nodeRequests(first)).length
        await made.whileCut(first, () => made.register('n4', '10.77.0.14'))
        await made.peers(first, 3)
        expect((await made.nodeRequests(first, before)).map(short)).toEqual(['watch 200'])
        made.leave('n4')
        for (const node of [first, second]) await made.peers(node, 2)
        expect(missing).toBe(0)
      },
      5 * MINUTES,
    )

    test(
      'a watch of nodes that do not change continues from the version of a bookmark',
      async () => {
        const begun = (await made.nodeRequests(first)).at(-1)
        const other = made.api.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other' } })
        must(other)
        const { metadata } = made.api.get('configmap', 'other') as { metadata: { resourceVersion: string } }
        expect(versionIn(begun?.uri)).toBeLessThan(Number(metadata.resourceVersion))
        // The API server sends a bookmark about once a minute.
        const before = (await made.nodeRequests(first)).length
        await sleep(75_000)
        await made.whileCut(first)
        await made.state(first, 'watching')
        const [resumed, ...more] = await made.nodeRequests(first, before)
        expect(more).toEqual([])
        expect(resumed?.verb).toBe('watch')
        expect(versionIn(resumed?.uri)).toBeGreaterThanOrEqual(Number(metadata.resourceVersion))
      },
      5 * MINUTES,
    )

    test(
      'without the right to watch the agent keeps its peers, asks rarely, and continues when it has the right again',
      async () => {
        const denied = await made.failures(first, 'forbidden')
        const patch = [{ op: 'replace', path: '/rules/0/verbs', value: ['get', 'list'] }]
        const role = ['patch', 'clusterrole', 'holdfast-agent', '--type=json', '-p', JSON.stringify(patch)]
        must(made.api.kubectl(...role))
        const before = (await made.nodeRequests(first)).length
        await made.whileCut(first, () => made.register('n4', '10.77.0.14'))
        await made.fails(first, 'forbidden', denied)
        // The watch of the second agent was not cut, so it goes on.
        await made.peers(second, 3)
        const since = monotonicMs()
        await sleep(5_000)
        const during = await made.nodeRequests(first, before)
        expect(new Set(during.map(short))).toEqual(new Set(['watch 403']))
        // The delay doubles from half a second on.
        expect(during.length).toBeLessThanOrEqual(Math.ceil((monotonicMs() - since) / 1_000) + 4)
        await made.peers(first, 2)
        must(made.api.kubectl('apply', '-f', RBAC))
        await made.peers(first, 3)
        made.leave('n4')
        for (const node of [first, second]) await made.peers(node, 2)
        expect(missing).toBe(0)
      },
      5 * MINUTES,
    )

    test(
      'without the right to write the status the addresses move as before, and the status follows when the right is back',
      async () => {
        const before = await made.owner('before the right is taken away')
        const patch = [{ op: 'remove', path: '/rules/2' }]
        must(made.api.kubectl('patch', 'clusterrole', 'holdfast-agent', '--type=json', '-p', JSON.stringify(patch)))
        before.engine?.killFamily()
        const after = before === first ? second : first
        await eventually(
          `${after.name} to have the address`,
          () => made.lab.holders(LAB_VIP).includes(after.host.name),
          {
            sight: () => made.lab.holders(LAB_VIP),
            ...WAIT,
          },
        )
        await eventually(
          'a refused write',
          () =>
            made.api
              .asked()
              .some(({ verb, code, from }) => [verb, code, from].join() === `patch,403,${after.host.address}`),
          { sight: () => made.api.asked().slice(-4), ...WAIT },
        )
        expect(made.published()?.apiServerInternalIpOwner).not.toBe(after.name)
        must(made.api.kubectl('apply', '-f', RBAC))
        before.startEngine()
        await made.peers(before, 2)
        await made.owner('after the right is back')
      },
      6 * MINUTES,
    )

    test(
      'requests that the API server throttles wait as Retry-After says, and the agent continues afterwards',
      async () => {
        const throttled = await made.failures(first, 'rateLimited')
        // A level without seats serves one request at a time, and refuses each other one with 429 and Retry-After: 1.
        const limited = { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } }
        const level = { type: 'Limited', limited }
        const rules = [{ subjects: [{ kind: 'User', user: { name: ACCOUNT } }], ...EVERYTHING }]
        const flow = { matchingPrecedence: 10, priorityLevelConfiguration: { name: 'none' }, rules }
        must(made.api.apply({ ...head('PriorityLevelConfiguration', 'none'), spec: level }))
        must(made.api.apply({ ...head('FlowSchema', 'none'), spec: flow }))
        const occupied = made.occupy()
        await eventually(
          'the API server to throttle the agent',
          () => /\b429\b|too many requests/i.test(made.api.kubectl('get', 'nodes', `--as=${ACCOUNT}`).text),
          { sight: () => made.api.kubectl('get', 'nodes', `--as=${ACCOUNT}`).text, ...WAIT },
        )
        const before = (await made.nodeRequests(first)).length
        await made.whileCut(first, () => made.register('n4', '10.77.0.14'))
        await made.fails(first, 'rateLimited', throttled)
        await sleep(5_000)
        const during = (await made.nodeRequests(first, before)).map(({ at }) => at)
        const pauses = during.slice(1).map((at, i) => at - (during[i] ?? 0))
        for (const pause of pauses) expect(pause, 'ms between two requests').toBeGreaterThanOrEqual(1_000)
        occupied.killFamily()
        for (const kind of ['flowschema', 'prioritylevelconfiguration']) must(made.api.kubectl('delete', kind, 'none'))
        await made.peers(first, 3)
        made.leave('n4')
        for (const node of [first, second]) await made.peers(node, 2)
        expect(missing).toBe(0)
      },
      5 * MINUTES,
    )

    test(
      'a token that expires is refused, and the next token in the file is used without a restart',
      async () => {
        const refused = await made.failures(first, 'unauthorized')
        const before = (await made.nodeRequests(first)).length
        made.useToken(made.shortToken(30))
        await made.whileCut(first)
        await made.state(first, 'watching')
        expect((await made.nodeRequests(first, before)).map(short)).toEqual(['watch 200'])
        await sleep(32_000)
        await made.whileCut(first, () => made.register('n4', '10.77.0.14'))
        await made.fails(first, 'unauthorized', refused)
        await made.peers(first, 2)
        made.useToken(made.token())
        await made.peers(first, 3)
        made.leave('n4')
        for (const node of [first, second]) await made.peers(node, 2)
        expect(missing).toBe(0)
      },
      5 * MINUTES,
    )

    test(
      'a client certificate that has expired is refused, and its successor in the file is used without a restart',
      async () => {
        const refused = await made.failures(second, 'unauthorized')
        made.useCertificate(0)
        await made.whileCut(second, () => made.register('n4', '10.77.0.14'))
        await made.fails(second, 'unauthorized', refused)
        await made.peers(second, 2)
        made.useCertificate(1)
        await made.peers(second, 3)
        made.leave('n4')
        for (const node of [first, second]) await made.peers(node, 2)
        expect(missing).toBe(0)
      },
      5 * MINUTES,
    )

    test(
      'an API server that starts again costs each agent one list, and so does a version that etcd has compacted',
      async () => {
        const before = await Promise.all([first, second].map(async (node) => (await made.nodeRequests(node)).length))
        await made.api.kill()
        // Without its cache the API server watches in etcd, which has no compacted version.
        await made.api.start(['--watch-cache-sizes=nodes#0'])
        for (const [i, node] of [first, second].entries()) {
          await made.state(node, 'watching')
          const lists = (await made.nodeRequests(node, before[i])).filter(
            ({ verb, code }) => verb === 'list' && code === 200,
          )
          expect(lists.length).toBeLessThanOrEqual(1)
        }
        const gone = await made.failures(first, 'gone')
        const since = (await made.nodeRequests(first)).length
        await made.whileCut(first, () => {
          made.register('n4', '10.77.0.14')
          made.api.compact()
        })
        await made.fails(first, 'gone', gone)
        await made.peers(first, 3)
        const verbs = (await made.nodeRequests(first, since)).map(({ verb }) => verb)
        expect(verbs.filter((verb) => verb === 'list')).toEqual(['list'])
        made.leave('n4')
        for (const node of [first, second]) await made.peers(node, 2)
        expect(missing).toBe(0)
      },
      6 * MINUTES,
    )
  },
  API_PROGRAMS,
)

const EVERYTHING = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
}
const head = (kind: string, name: string) => ({
  ...{ apiVersion: 'flowcontrol.apiserver.k8s.io/v1', kind, metadata: { name } },
})
