/**
 * Runs a real etcd and a real kube-apiserver on a host of a lab (scripts/cluster-binaries.sh). This file decides their flags,
 * certificates and files.  This file does not know what a test is about.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'

const SCRIPTS = join(packageRoot(), 'scripts')
export const DEPLOY = join(packageRoot(), 'deploy', 'kubernetes')
const START = { within: 120_000, every: 200 }

/** Programs that the tests of the API need. */
export const API_PROGRAMS = ['etcd', 'kube-apiserver', 'kubectl']

/** Returns the folder with these programs, or with all programs of a cluster; `undefined` if one was not built. */
export function clusterPrograms(names: readonly string[] = []): string | undefined {
  const script = join(SCRIPTS, 'cluster-binaries.sh')
  const { status, stdout } = spawnSync(script, ['--look', ...names], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

export type Answer = { readonly ok: boolean; readonly text: string }

export class RealApi {
  readonly server: string
  readonly #lab: Lab
  readonly #host: Host
  readonly #programs: string
  readonly #folder: string
  #etcd: LoggedProcess | undefined
  #api: LoggedProcess | undefined

  constructor(lab: Lab, host: Host, programs: string) {
    this.#lab = lab
    this.#host = host
    this.#programs = programs
    this.#folder = join(lab.directory, 'api')
    this.server = `https://${host.address}:6443`
    mkdirSync(this.#folder)
    const nodes = [`${host.name}=${host.address}`, 'n1=127.0.0.2', 'n2=127.0.0.3']
    const script = join(SCRIPTS, 'cluster', 'certificates.sh')
    const made = spawnSync(script, [this.#folder, host.address, ...nodes], { encoding: 'utf8' })
    if (made.status !== 0) throw new Error(`Cannot make certificates: ${made.stderr}`)
  }

  file(name: string): string {
    return join(this.#folder, name)
  }

  /** Starts etcd, if it does not run, and the API server. Resolves when the API server is ready. */
  async start(): Promise<void> {
    this.#etcd ??= new LoggedProcess(this.#lab, this.#host, [
      join(this.#programs, 'etcd'),
      `--data-dir=${this.file('etcd')}`,
      '--listen-client-urls=http://127.0.0.1:2379',
      '--advertise-client-urls=http://127.0.0.1:2379',
      '--listen-peer-urls=http://127.0.0.1:2380',
      '--unsafe-no-fsync',
    ])
    this.#api = new LoggedProcess(this.#lab, this.#host, [
      join(this.#programs, 'kube-apiserver'),
      '--etcd-servers=http://127.0.0.1:2379',
      `--advertise-address=${this.#host.address}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      `--client-ca-file=${this.file('ca.crt')}`,
      `--tls-cert-file=${this.file('api-server.crt')}`,
      `--tls-private-key-file=${this.file('api-server.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.file('service-accounts.pub')}`,
      `--service-account-signing-key-file=${this.file('service-accounts.key')}`,
      '--service-cluster-ip-range=10.96.0.0/16',
    ])
    await eventually('the API server to be ready', () => this.kubectl('get', '--raw', '/readyz').ok, {
      sight: () => [...(this.#api?.lines ?? []), ...(this.#etcd?.lines ?? [])].slice(-5).map(({ text }) => text),
      ...START,
    })
  }

  /** Runs kubectl as the administrator. */
  kubectl(...argv: readonly string[]): Answer {
    return this.kubectlAs(this.file('admin.conf'), argv)
  }

  /** Runs kubectl with the administrator's rights and `input` as standard input. */
  apply(input: object, ...argv: readonly string[]): Answer {
    return this.kubectlAs(this.file('admin.conf'), ['apply', ...argv, '-f', '-'], JSON.stringify(input))
  }

  kubectlAs(kubeconfig: string, argv: readonly string[], input?: string): Answer {
    const command = [join(this.#programs, 'kubectl'), '--kubeconfig', kubeconfig, '--request-timeout=20s', ...argv]
    const [file = '', ...rest] = this.#lab.commandOn(this.#host, command)
    const ended = spawnSync(file, rest, {
      encoding: 'utf8',
      timeout: 60_000,
      ...(input === undefined ? {} : { input }),
    })
    return { ok: ended.status === 0, text: `${ended.stdout}${ended.stderr}`.trim() }
  }

  /** Returns the parsed output of `kubectl get … -o json`. Throws if kubectl fails. */
  get(...argv: readonly string[]): Readonly<Record<string, unknown>> {
    const { ok, text } = this.kubectl('get', ...argv, '-o', 'json')
    if (!ok) throw new Error(`Cannot get ${argv.join(' ')}: ${text}`)
    return JSON.parse(text)
  }
}
