/** What an operator's term does after a fault of the API has passed, and that nothing of a term outlives it. */
import { expect, test } from 'vitest'
import { ClusterClient, type Question } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { nodeObject } from '../../support/kube-api/node-object.ts'
import { API_VIP, INFRASTRUCTURES, INGRESS_VIP, infrastructure, OperatorLab } from '../../support/operator-lab.ts'

const SOON = { within: 10_000, every: 20 }
const GOOD = ['Available=True AsExpected', 'Progressing=False DeployComplete', 'Degraded=False AsExpected']

async function installed(): Promise<OperatorLab> {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure())
  lab.operate()
  await lab.says('Progressing=True SyncingResources')
  lab.holders({ [API_VIP]: 'n1', [INGRESS_VIP]: 'n4' })
  await lab.says(...GOOD)
  return lab
}
const endWatches = (lab: OperatorLab) => {
  for (const watch of lab.api.watches) watch.end()
}

test('the end of a term aborts its writes, resolves when none is left, and no write follows', async () => {
  const lab = await installed()
  const client = new ClusterClient(async () => [{ server: `http://127.0.0.1:${lab.api.port}`, options: {} }])
  const written: Question[] = []
  const term = lab.operate({
    client: {
      stream: (path, watching) => client.stream(path, watching),
      ask(question, signal) {
        if (question.method === undefined || question.method === 'GET') return client.ask(question, signal)
        written.push(question)
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
      },
    },
  })
  lab.holders({ [API_VIP]: '', [INGRESS_VIP]: 'n4' })
  await eventually('a write', () => written.length > 0, { sight: () => lab.log, ...SOON })
  await term.end()
  const { length } = written
  await sleep(1_000)
  expect(written).toHaveLength(length)
  expect(lab.log.filter((line) => line.includes('operatorNotWritten'))).toEqual([])
})

test('an object that the operator may not create, and another client creates, ends AccessDenied', async () => {
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure())
  lab.refuse = ({ path, verb }) => (verb === 'create' && path.includes('hostednetservices') ? 403 : undefined)
  lab.operate()
  await lab.says('Degraded=True AccessDenied')
  lab.spec({})
  await lab.says('Degraded=False AsExpected')
})

test('an Infrastructure that loses its API VIPs is InvalidConfiguration', async () => {
  const lab = await installed()
  lab.put(INFRASTRUCTURES, infrastructure('BareMetal', { apiServerInternalIPs: [] }))
  await lab.says('Upgradeable=False InvalidConfiguration')
  expect(lab.condition('Degraded')?.message).toContain('apiServerInternalIPs: required')
})

test.each([
  // Without a new list, the operator would take the object for missing.
  [404, 'Progressing=True SyncingResources'],
  [400, 'Degraded=True SpecUnreadable'],
])(
  'a watch that was answered %i is forgotten when it is accepted, and a second one is a warning again',
  async (code, line) => {
    const lab = await installed()
    for (const _ of ['first', 'second']) {
      await eventually('all watches', () => lab.api.watches.size === 4, { sight: () => lab.log, ...SOON })
      // The end of a watch without an event would be a failure of another kind.
      lab.holders({ [API_VIP]: 'n1', [INGRESS_VIP]: 'n4' })
      await sleep(200)
      const ends = lab.api.fail('watch', { kind: 'status', code })
      endWatches(lab)
      await lab.says(line)
      ends()
      await lab.says(...GOOD)
    }
    const warnings = lab.log.filter((text) => /^warn operatorWatchFailed: .*hostednetservices.*status/.test(text))
    expect(warnings).toHaveLength(2)
  },
)

test('credentials that cannot be read are a reason why the external address is refused', async () => {
  const lab = await installed()
  lab.operate({ askExternal: () => Promise.reject(new Error('no credentials')) })
  lab.spec({ dns: { apiintIpAddress: '10.9.0.200' } })
  await lab.says('Degraded=True LoadBalancerRefused')
  expect(lab.condition('Degraded')?.message).toContain('no credentials')
})

test('changes of the cluster that change no condition cause no write', async () => {
  const lab = await installed()
  const writes = () => lab.api.asked('apply').filter(({ path }) => path.includes('clusteroperators')).length
  const before = writes()
  lab.operate({ everyMs: 5_000 })
  await eventually('the first write of the term', () => writes() > before, { sight: () => lab.log, ...SOON })
  await sleep(200)
  const first = writes()
  for (let i = 0; i < 14; i++) {
    lab.put('v1/nodes', nodeObject({ name: 'n9', addresses: [`10.9.0.${40 + i}`], roles: ['worker'] }))
    await sleep(80)
  }
  expect(writes()).toBe(first)
})
