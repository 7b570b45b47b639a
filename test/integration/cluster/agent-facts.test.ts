/**
 * The agent's contact with its node, against real programs, servers, sockets and files. Answers of CRI-O become files,
 * an API server is ready or not, and a file with an order reaches the program that replaces keepalived.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hasContainer, hasPod, readFact, unreadFact, VOUCHED_FOR } from '../../../src/cluster/decisions/node-fact.ts'
import { doesIronicAnswer, isApiReady } from '../../../src/cluster/runtime/api/api-health.ts'
import { clusterAccess } from '../../../src/cluster/runtime/api/cluster-access.ts'
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { type FoundNodes, nodesAt, nodesIn, rememberedIn } from '../../../src/cluster/runtime/api/node-source.ts'
import { replaceFile } from '../../../src/cluster/runtime/fact-file.ts'
import { openKeepalivedClient } from '../../../src/cluster/runtime/keepalived-client.ts'
import { remoteWorker } from '../../../src/cluster/runtime/machine.ts'
import { rememberPeers } from '../../../src/cluster/runtime/peer-memory.ts'
import { ask } from '../../../src/cluster/runtime/program.ts'
import { QUESTIONS, watchRuntime } from '../../../src/cluster/runtime/runtime-facts.ts'
import { address } from '../../../src/wire/address.ts'
import { type Authority, createAuthority } from '../../support/certificates.ts'
import { clusterCases } from '../../support/cluster-cases.ts'
import { writeKubeconfig } from '../../support/kube-api/kubeconfig.ts'
import { NODES, nodeObject } from '../../support/kube-api/node-object.ts'
import { KubeApi } from '../../support/kube-api/server.ts'

let folder = ''
const at = (name: string) => join(folder, name)
const told: string[] = []
const tell = (message: string) => told.push(message)
const closing: (() => unknown)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-facts-'))
  told.length = 0
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  // The crictl that was asked may still be ending.
  rmSync(folder, { recursive: true, maxRetries: 20, retryDelay: 50 })
})

async function until(what: string, is: () => boolean): Promise<void> {
  for (const started = Date.now(); !is(); await new Promise((resolve) => setTimeout(resolve, 10)))
    if (Date.now() - started > 15_000) throw new Error(`not within 15 s: ${what}; told: ${told.join(' | ')}`)
}

describe('a fact', () => {
  const MINUTE = VOUCHED_FOR
  test('an unknown fact stays as it was for a minute, and is removed then', () => {
    let fact = readFact(unreadFact(false, 0), true, 1000)
    expect(fact.present).toBe(true)
    fact = readFact(fact, undefined, 2000)
    expect(fact.present).toBe(true)
    fact = readFact(fact, undefined, 2000 + MINUTE - 1)
    expect(fact.present).toBe(true)
    fact = readFact(fact, undefined, 2000 + MINUTE)
    expect(fact.present).toBe(false)
    // An unknown answer does not make a fact present again that was given up.
    expect(readFact(fact, undefined, 2001 + MINUTE).present).toBe(false)
    expect(readFact(fact, true, 2002 + MINUTE)).toEqual({ present: true, unknownSince: undefined })
  })

  test('an answer restarts the minute, and so does the start with a file of an earlier run', () => {
    const again = readFact(readFact(readFact(unreadFact(true, 0), undefined, 50_000), true, 50_001), undefined, 90_000)
    expect(readFact(again, undefined, 140_000).present).toBe(true)
    expect(readFact(unreadFact(true, 0), undefined, MINUTE).present).toBe(false)
    expect(readFact(unreadFact(true, 0), false, 1).present).toBe(false)
  })

  test('a fact is read from the output of crictl, and invalid output means unknown', () => {
    const containers = JSON.stringify({
      containers: [{ metadata: { name: 'x' } }, { metadata: { name: 'machine-config-server' } }],
    })
    expect(hasContainer(containers, 'machine-config-server')).toBe(true)
    expect(hasContainer('{"containers":[]}', 'machine-config-server')).toBe(false)
    const pods = JSON.stringify({ items: [{ metadata: { name: 'router-default-7d9-abcde' } }] })
    expect(hasPod(pods, 'router-default-')).toBe(true)
    expect(hasPod('{"items":[{"metadata":{"name":"router-internal-1"}}]}', 'router-default-')).toBe(false)
    for (const garbage of ['', 'null', '[]', '{}', '{"items":{}}', 'E1122 cannot connect']) {
      expect(hasPod(garbage, 'router-default-')).toBeUndefined()
      expect(hasContainer(garbage, 'x')).toBeUndefined()
    }
  })
})

describe('CRI-O', () => {
  /** Writes a crictl that prints the content of the file beside it, and fails without that file. */
  function stub(): readonly string[] {
    writeFileSync(at('crictl'), `#!/bin/sh\necho "$*" >>${at('asked')}\nexec cat ${at('answer')}-$1\n`, { mode: 0o755 })
    return [at('crictl')]
  }
  const answer = (to: 'ps' | 'pods', value: unknown) => {
    writeFileSync(at('fresh'), JSON.stringify(value))
    rmSync(at(`answer-${to}`), { force: true })
    writeFileSync(at(`answer-${to}`), readFileSync(at('fresh')))
  }
  const questions = () => [
    { ...QUESTIONS.machineConfigServer, file: at('run/mcs'), every: 400 },
    { ...QUESTIONS.defaultRouter, file: at('run/router'), every: 400 },
  ]

  test('answers of CRI-O create and remove files; a missing answer changes nothing and is reported once', async () => {
    const crictl = stub()
    answer('ps', { containers: [{ metadata: { name: 'machine-config-server' } }] })
    answer('pods', { items: [] })
    const watched = watchRuntime({ crictl, questions: questions(), tell })
    closing.push(() => watched.close())
    await until('the machine-config-server is seen', () => existsSync(at('run/mcs')))
    expect(existsSync(at('run/router'))).toBe(false)

    answer('pods', { items: [{ metadata: { name: 'router-default-1' } }] })
    await until('the router is seen', () => existsSync(at('run/router')))
    rmSync(at('answer-ps'))
    await until('the failure is told', () => told.some((text) => text.includes('run/mcs')))
    const count = () => readFileSync(at('asked'), 'utf8').split('\n').length
    const before = count()
    await until('it was asked more often', () => count() > before + 6)
    expect(existsSync(at('run/mcs')), 'the file outlives answers that do not come').toBe(true)
    expect(told.filter((text) => text.includes('run/mcs'))).toHaveLength(1)

    answer('ps', { containers: [] })
    await until('it runs no more', () => !existsSync(at('run/mcs')))
    expect(readFileSync(at('asked'), 'utf8')).toContain(
      'pods --namespace openshift-ingress --state ready --output json',
    )
  })

  test('a program that is missing, hangs or writes without end gives one result with the reason', async () => {
    expect(await ask([at('nowhere')], 1000)).toMatchObject({ failed: expect.stringContaining('ENOENT') })
    expect(await ask(['/bin/sh', '-c', 'sleep 60'], 100)).toMatchObject({
      failed: expect.stringContaining('within 100 ms'),
    })
    expect(await ask(['/bin/sh', '-c', 'exec yes'], 20_000)).toMatchObject({
      failed: expect.stringContaining('maxBuffer'),
    })
  })
})

describe('the API server of this node', () => {
  let authority: Authority
  beforeAll(() => {
    authority = createAuthority()
  })
  afterAll(() => authority.remove())

  function serve(status: number | undefined, secure: boolean): Promise<string> {
    const answer = (_: unknown, response: { writeHead(status: number): { end(text: string): void } }) => {
      if (status !== undefined) response.writeHead(status).end('ok')
    }
    // The certificate has another host name, and its authority is not in the list of trusted authorities.
    const server = secure ? createHttpsServer(authority.issue('DNS:elsewhere'), answer) : createHttpServer(answer)
    closing.push(() => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    })
    return new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        const bound = server.address()
        const port = typeof bound === 'object' && bound !== null ? bound.port : 0
        resolve(`${secure ? 'https' : 'http'}://127.0.0.1:${port}`)
      })
    })
  }

  test.each(clusterCases<{ httpsLocalhostReadyzStatus: number | null }, boolean>('isKubeApiHealthy'))(
    '$id',
    async ({ input: { httpsLocalhostReadyzStatus: status }, expect: expected }) => {
      const url = status === null ? 'https://127.0.0.1:9' : await serve(status, true)
      expect(await isApiReady(`${url}/readyz`)).toBe(expected)
    },
  )

  test('an API server that never answers is not ready, nor is one without TLS', async () => {
    const url = await serve(undefined, true)
    const started = Date.now()
    expect(await isApiReady(url, 300)).toBe(false)
    expect(Date.now() - started).toBeLessThan(4000)
    expect(await isApiReady((await serve(200, false)).replace('http:', 'https:'))).toBe(false)
  })

  test('Ironic counts as answering with any status', async () => {
    expect(await doesIronicAnswer(await serve(503, false))).toBe(true)
    expect(await doesIronicAnswer('http://127.0.0.1:9')).toBe(false)
    expect(await doesIronicAnswer(await serve(undefined, false), 200)).toBe(false)
  })
})

describe('in the place of keepalived’s monitor', () => {
  function listen(heard: string[]): Promise<() => Promise<void>> {
    const server = createServer((connection) =>
      connection.on('data', (bytes) => heard.push(String(bytes))).on('error', () => {}),
    )
    const stop = () => new Promise<void>((resolve) => void server.close(() => resolve()))
    return new Promise((resolve) => server.listen(at('socket'), () => resolve(stop)))
  }
  const open = (isStopped = false) => {
    const client = openKeepalivedClient({
      file: at('keepalived.conf'),
      socket: at('socket'),
      tell,
      isStopped,
      pause: 20,
    })
    closing.push(() => client.close())
    return client
  }

  test("keepalived's file is replaced as a whole, with its mode, and reload is sent", async () => {
    const heard: string[] = []
    closing.push(await listen(heard))
    writeFileSync(at('keepalived.conf'), 'old')
    chmodSync(at('keepalived.conf'), 0o600)
    const before = statSync(at('keepalived.conf')).ino
    open().handOver('new\n')
    await until('reload is heard', () => heard.join('') === 'reload\n')
    expect(readFileSync(at('keepalived.conf'), 'utf8')).toBe('new\n')
    expect(statSync(at('keepalived.conf')).mode & 0o777).toBe(0o600)
    expect(statSync(at('keepalived.conf')).ino).not.toBe(before)
    expect(readdirSync(folder).sort()).toEqual(['keepalived.conf', 'socket'])
    expect(told).toEqual([])
  })

  test('an order without a receiver is sent again and reported once, and only the last one counts', async () => {
    const client = open()
    client.handOver('a\n')
    await until('the failure is told', () => told.length > 0)
    client.send('stop')
    const heard: string[] = []
    closing.push(await listen(heard))
    await until('somebody hears', () => heard.length > 0)
    await until('that is told', () => told.some((text) => text.includes('received "stop"')))
    expect(heard.join('')).toBe('stop\n')
    expect(told.filter((text) => text.startsWith('Cannot send'))).toHaveLength(2)
  })

  test.each(['now', 'by an earlier life of the agent'])(
    'a keepalived that was stopped %s gets its file without a word, until reload',
    async (when) => {
      const heard: string[] = []
      closing.push(await listen(heard))
      const client = open(when !== 'now')
      if (when === 'now') {
        client.send('stop')
        await until('stop is heard', () => heard.length > 0)
      }
      client.handOver('new\n')
      expect(readFileSync(at('keepalived.conf'), 'utf8')).toBe('new\n')
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(heard.join('')).toBe(when === 'now' ? 'stop\n' : '')
      client.send('reload')
      await until('reload is heard', () => heard.join('').endsWith('reload\n'))
      heard.length = 0
      client.handOver('newer\n')
      await until('reload is heard', () => heard.length > 0)
      expect(heard.join('')).toBe('reload\n')
    },
  )

  test('a file that cannot be written stays as it was, and nothing is sent', async () => {
    const heard: string[] = []
    closing.push(await listen(heard))
    mkdirSync(at('keepalived.conf'))
    expect(() => open().handOver('new')).toThrow(/EISDIR|directory/)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(heard).toEqual([])
    expect(readdirSync(folder).sort()).toEqual(['keepalived.conf', 'socket'])
  })

  test('a new file is readable by all, and its folder is created', () => {
    replaceFile(at('etc/keepalived.conf'), 'x')
    expect(statSync(at('etc/keepalived.conf')).mode & 0o777).toBe(0o644)
  })
})

describe('nodes, for one look', () => {
  const named = (found: FoundNodes) =>
    'nodes' in found ? found.nodes.length : 'peers' in found ? found.peers : found.missing
  const remembered = [{ name: 'm0', controlPlane: true, addresses: { ipv4: address('10.0.0.20') } }]

  test('nodes come from the API by a kubeconfig, or from storage with the reason when it is down', async () => {
    const api = await new KubeApi().start()
    closing.push(() => api.stop())
    api.store.put(NODES, nodeObject({ name: 'm0', addresses: ['10.0.0.20'] }))
    const kubeconfig = writeKubeconfig(at('kubeconfig'), { server: `http://127.0.0.1:${api.port}` })
    rememberPeers(folder, remembered)
    const source = nodesAt(new ClusterClient(clusterAccess({ kubeconfig })), rememberedIn(folder), tell)
    expect(named(await source())).toBe(1)
    expect(told).toEqual([])
    await api.stop()
    expect(named(await source())).toEqual(remembered)
    expect(told).toHaveLength(1)
  })

  test('a missing file, invalid JSON and a value without items give the reason', async () => {
    expect(named(await nodesIn(at('none'))())).toMatch(/Cannot read .*none/)
    writeFileSync(at('odd'), '{"items":3}')
    expect(named(await nodesIn(at('odd'))())).toMatch(/not a NodeList/)
    writeFileSync(at('peers.json'), '[{"name":1}]')
    expect(named(await rememberedIn(folder)())).toMatch(/this version of the agent did not write it/)
  })
})

test('a node is a remote worker while the file exists', () => {
  expect(remoteWorker(folder)).toBeUndefined()
  mkdirSync(at('run/nodeip-configuration'), { recursive: true })
  writeFileSync(at('run/nodeip-configuration/remote-worker'), "node ip doesn't match any vip\n")
  expect(remoteWorker(folder)).toBe("node ip doesn't match any vip")
  writeFileSync(at('run/nodeip-configuration/remote-worker'), '')
  expect(remoteWorker(folder)).toBe('the file is empty')
})
