/**
 * Engines and agents on hosts of a lab, and a real API server on another host. This file decides the credentials of the
 * agents, and how the connection of an agent is cut. This file does not know what a test is about.
 */
import { spawnSync } from 'node:child_process'
import { createPrivateKey, sign } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  GROUP,
  PLURAL,
  type Published,
  readPublished,
  VERSION,
} from '../../src/cluster/decisions/status/published-status.ts'
import { inside, nft } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { LabNode } from '../support/cluster-lab.ts'
import { writeKubeconfig } from '../support/kube-api/kubeconfig.ts'
import { nodeObject } from '../support/kube-api/node-object.ts'
import { type Answer, type Asked, DEPLOY, RealApi } from './real-api.ts'

export const ACCOUNT = 'system:serviceaccount:kube-system:holdfast-agent'
export const NODES = '/api/v1/nodes'
/** Waits of the tests: three engines, agents and API servers share a busy machine. */
export const WAIT = { within: 120_000, every: 200 }
const SECONDS_OF_LIFE = 600
/** Seconds for which an API server accepts a token after its end. */
const LEEWAY = 60

type Plan = {
  /** True if the first two hosts have the API servers, and agents ask for them at the virtual address. */
  readonly behindVip?: boolean
}

export class AgentLab {
  readonly lab: Lab
  readonly api: RealApi
  readonly nodes: readonly LabNode[]
  readonly #folder: string

  constructor(programs: string, { behindVip = false }: Plan = {}) {
    this.lab = createLab({ routers: 3, clients: ['client', 'api'] })
    this.#folder = join(this.lab.directory, 'credentials')
    mkdirSync(this.#folder)
    const hosts = this.lab.routers
    this.api = new RealApi(this.lab, this.lab.host('api'), programs, behindVip ? { hosts, vip: LAB_VIP } : {})
    const server = behindVip ? `https://${LAB_VIP}:6443` : this.api.server
    this.nodes = hosts.map((host, i) => {
      const kubeconfig = writeKubeconfig(join(this.#folder, `${host.name}.conf`), {
        ...{ server, caFile: this.api.file('ca.crt') },
        // The second agent has the certificate of a kubelet, the others have a token.
        ...(i === 1 ? { certFile: 'n2.crt', keyFile: this.api.file('n2.key') } : { tokenFile: 'token' }),
      })
      return new LabNode(this.lab, host, i, kubeconfig, ['--stable-for=1s'])
    })
  }

  /** Returns the node at position 1, 2, 3. */
  node(position: number): LabNode {
    const node = this.nodes[position - 1]
    if (node === undefined) throw new Error(`Cannot find node ${position}`)
    return node
  }

  /** Applies deploy/kubernetes, registers the nodes, creates HostedNetServices, and writes the credentials. */
  prepare(): void {
    const files = ['crd.yaml', 'rbac.yaml', 'rbac-kubelet.yaml'].map((name) => join(DEPLOY, name))
    must(this.api.kubectl('apply', ...files.flatMap((file) => ['-f', file])))
    must(this.api.kubectl('wait', '--for=condition=Established', '--timeout=20s', '--all', 'crd'))
    must(this.api.kubectl('apply', '-f', join(DEPLOY, 'cluster.yaml')))
    for (const { host, name } of this.nodes) this.register(name, host.address)
    this.useToken(this.token())
    copyFileSync(this.api.file('n2.crt'), join(this.#folder, 'n2.crt'))
  }

  /** Creates a Node of the control plane, as a kubelet does. */
  register(name: string, address: string): void {
    must(this.api.apply(nodeObject({ name, addresses: [address] })))
  }

  leave(name: string): void {
    must(this.api.kubectl('delete', 'node', name))
  }

  /** Returns a token of the agent's service account, made by the API server. */
  token(): string {
    const { ok, text } = this.api.kubectl(
      ...['create', 'token', 'holdfast-agent', '--namespace=kube-system', `--duration=${SECONDS_OF_LIFE}s`],
    )
    if (!ok) throw new Error(`Cannot create a token: ${text}`)
    return text
  }

  /**
   * Returns a token like those of the API server, signed with its key, that the API server accepts for some seconds. The API
   * server itself makes none for less than ten minutes.
   */
  shortToken(seconds: number): string {
    const { metadata } = this.api.get('serviceaccount', 'holdfast-agent', '--namespace=kube-system') as {
      metadata: { uid: string }
    }
    const now = Math.floor(Date.now() / 1_000)
    const issuer = 'https://kubernetes.default.svc'
    const account = { namespace: 'kube-system', serviceaccount: { name: 'holdfast-agent', uid: metadata.uid } }
    const parts = [
      { alg: 'ES256', typ: 'JWT' },
      {
        iss: issuer,
        aud: [issuer],
        sub: ACCOUNT,
        iat: now - 2 * LEEWAY,
        nbf: now - 2 * LEEWAY,
        exp: now + seconds - LEEWAY,
        'kubernetes.io': account,
      },
    ]
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    const key = createPrivateKey(readFileSync(this.api.file('service-accounts.key')))
    return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  }

  useToken(token: string): void {
    writeFileSync(join(this.#folder, 'token'), `${token}\n`)
  }

  /** Starts requests of the agent's account whose bodies never end, one after the other. */
  occupy(): LoggedProcess {
    const header = ['-H "Authorization: Bearer $TOKEN"', "-H 'Content-Type: application/json'"].join(' ')
    const ask = `curl -sk --max-time 50 -X POST -T - ${header} ${this.api.server}/api/v1/namespaces/default/events`
    const argv = ['sh', '-c', `while :; do sleep 60 | ${ask}; done`]
    return new LoggedProcess(this.lab, this.lab.host('api'), argv, { TOKEN: this.token() })
  }

  /** Gives the second agent a certificate for its key that is valid for some days; 0: that has expired. */
  useCertificate(days: number): void {
    const { api } = this
    const request = ['req', '-new', '-key', api.file('n2.key'), '-subj', '/O=system:nodes/CN=system:node:n2']
    const csr = spawnSync('openssl', request, { encoding: 'utf8' })
    const authority = ['-CA', api.file('ca.crt'), '-CAkey', api.file('ca.key'), '-CAserial', api.file('ca.srl')]
    const out = join(this.#folder, 'n2.crt')
    const signed = spawnSync('openssl', ['x509', '-req', ...authority, '-days', String(days), '-out', out], {
      ...{ encoding: 'utf8', input: csr.stdout },
    })
    if (signed.status !== 0) throw new Error(`Cannot make a certificate: ${signed.stderr}`)
  }

  /** Resets the connections of a host to the API, and refuses new ones. Returns a function that ends this state. */
  cut({ host }: LabNode): () => void {
    nft(
      host,
      `table inet cut {
        chain sent { type filter hook output priority 0; tcp dport 6443 ip daddr != 127.0.0.1 reject with tcp reset; }
      }`,
    )
    return () => nft(host, 'delete table inet cut')
  }

  /** Cuts the connections of a node until its agent has noticed, and does something meanwhile. */
  async whileCut(node: LabNode, act: () => void = () => {}): Promise<void> {
    const heal = this.cut(node)
    await this.state(node, 'waiting')
    act()
    heal()
  }

  /** Waits until the watch of the nodes is in a state. */
  async state(node: LabNode, state: string): Promise<void> {
    await eventually(
      `the watch of ${node.name} to be ${state}`,
      async () => (await node.metrics()).includes(`holdfast_agent_watch_state{state="${state}"} 1`),
      { sight: () => node.told.slice(-4), ...WAIT },
    )
  }

  /** Returns the requests of a node for nodes, from a number on, such as `watch 200`. */
  async nodeRequests({ host }: { readonly host: Host }, from = 0): Promise<readonly Asked[]> {
    return this.api
      .asked()
      .filter((one) => one.from === host.address && one.uri.startsWith(NODES))
      .slice(from)
  }

  /** Returns the number of failed requests of one kind that the agent of a node has counted. */
  async failures(node: LabNode, kind: string): Promise<number> {
    const found = new RegExp(`^holdfast_agent_api_failures_total\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(
      await node.metrics(),
    )
    return Number(found?.[1] ?? 0)
  }

  /** Waits until the agent of a node has counted a further failed request of one kind. */
  async fails(node: LabNode, kind: string, before: number): Promise<void> {
    await eventually(`another ${kind} on ${node.name}`, async () => (await this.failures(node, kind)) > before, {
      sight: () => node.told.slice(-4),
      ...WAIT,
    })
  }

  /** Waits until both routers of a node have so many peers. */
  async peers(node: LabNode, count: number): Promise<void> {
    const routers = ['API', 'INGRESS'].map((service) => `ostest_${service}_0: unicast to ${count} peers`)
    await node.routersAre(routers, WAIT.within)
  }

  /** Returns the status in the API. Asks by curl, which is quicker than kubectl. */
  published(): Published | undefined {
    const files = { '--cacert': 'ca.crt', '--cert': 'admin.crt', '--key': 'admin.key' }
    const options = Object.entries(files).flatMap(([option, name]) => [option, this.api.file(name)])
    const url = `${this.api.server}/apis/${GROUP}/${VERSION}/${PLURAL}/cluster`
    return readPublished(
      JSON.parse(this.lab.exec(this.lab.host('api'), ['curl', '-sS', '--max-time', '20', ...options, url])),
    )
  }

  /** Waits until one node has the API's address and the status names that node. Returns the node. */
  async owner(occasion: string): Promise<LabNode> {
    return await eventually(
      `one holder, and its name in the status ${occasion}`,
      () => {
        const [first, ...others] = this.lab.holders(LAB_VIP)
        const node = this.nodes.find(({ host }) => host.name === first)
        return others.length === 0 && node?.name === this.published()?.apiServerInternalIpOwner && node
      },
      { sight: () => [this.lab.holders(LAB_VIP), this.published()], ...WAIT },
    )
  }

  /** Runs a program on the host of the node. */
  on({ host }: LabNode, ...argv: readonly string[]): string {
    return inside(host, argv)
  }

  destroy(): void {
    this.lab.destroy()
  }
}

export function must({ ok, text }: Answer): void {
  if (!ok) throw new Error(text)
}
