/**
 * Runs a node with OpenShift's keepalived pod: Debian's keepalived with the check scripts of its configuration.
 * `holdfast dynkeepalived` replaces the pod's monitor program. Pod and monitor have folders /etc/keepalived and /run of
 * their own. This file decides where their files are. This file does not know the cluster.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOLDFAST, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import type { ClusterLab, LabNode } from './cluster-lab.ts'

const POD = join(import.meta.dirname, 'keepalived-pod.mjs')
/** Names of the check scripts. Each check is up while a file with the name of its script exists. */
const SCRIPTS = ['chk_ocp_script', 'chk_ocp_script_both', 'chk_mcs_script', 'chk_default_ingress'] as const

export class KeepalivedPod {
  readonly node: LabNode
  readonly #lab: Lab
  readonly #folder: string
  keepalived: LoggedProcess | undefined
  monitor: LoggedProcess | undefined

  constructor(cluster: ClusterLab, node: LabNode) {
    this.#lab = cluster.lab
    this.node = node
    this.#folder = join(cluster.lab.directory, `pod-${node.name}`)
    for (const name of ['etc', 'run/keepalived', 'up']) mkdirSync(join(this.#folder, name), { recursive: true })
    for (const name of SCRIPTS) {
      const script = join(this.#folder, 'etc', `${name}.sh`)
      writeFileSync(script, `#!/bin/sh\nexec test -e ${join(this.#folder, 'up', name)}\n`)
      chmodSync(script, 0o755)
    }
  }

  /**
   * Makes all checks of the API's VRRP instance pass or fail. Passing checks raise the priority of the instance from 40
   * to 68.
   */
  set healthy(is: boolean) {
    for (const name of SCRIPTS.slice(0, 3)) {
      if (is) writeFileSync(join(this.#folder, 'up', name), '')
      else rmSync(join(this.#folder, 'up', name), { force: true })
    }
  }

  /**
   * Makes the checks of the API those of OpenShift's pod, which ask HAProxy, the file about the rules, and the API server
   * of the node. The check of the machine-config-server passes.
   */
  asksServices(): void {
    const ask = (url: string) => `/usr/bin/timeout 1.9 curl -o /dev/null -kLfs ${url}`
    const balancer = `${ask('http://localhost:9444/haproxy_ready')} && [ -e /var/run/keepalived/iptables-rule-exists ]`
    const tests = {
      chk_ocp_script: balancer,
      chk_ocp_script_both: `${balancer} || ${ask('https://localhost:6443/readyz')}`,
    }
    for (const [name, test] of Object.entries(tests))
      writeFileSync(join(this.#folder, 'etc', `${name}.sh`), `#!/bin/sh\n${test}\n`)
    writeFileSync(join(this.#folder, 'up', 'chk_mcs_script'), '')
  }

  /** Effective priorities of the API's VRRP instance, in order, as keepalived logs them. */
  get priorities(): readonly number[] {
    return (this.keepalived?.lines ?? []).flatMap(({ text }) => {
      const said = /\(\w+_API_0\) Changing effective priority from \d+ to (\d+)/.exec(text)
      return said === null ? [] : [Number(said[1])]
    })
  }

  #within(argv: readonly string[], env: Readonly<Record<string, string>> = {}): LoggedProcess {
    const binds = `mount --bind ${join(this.#folder, 'etc')} /etc/keepalived && mount --bind ${join(this.#folder, 'run')} /run`
    const place = ['unshare', '--mount', 'sh', '-c', `${binds} && exec "$@"`, 'sh']
    return new LoggedProcess(this.#lab, this.node.host, [...place, ...argv], env)
  }

  startKeepalived(): LoggedProcess {
    this.keepalived = this.#within([process.execPath, POD, this.#folder], { TMPDIR: this.#folder })
    return this.keepalived
  }

  /** Starts the pod's monitor program as the pod's manifest does. */
  startMonitor(): LoggedProcess {
    const files = [
      join(this.#lab.directory, 'kubeconfig'),
      '/config/keepalived.conf.tmpl',
      '/etc/keepalived/keepalived.conf',
    ]
    const { api, ingress } = this.node.vips
    const words = ['--api-vips', api, '--ingress-vips', ingress, '--name', 'ostest']
    const env = { NODE_NAME: this.node.name, ENABLE_UNICAST: 'yes' }
    this.monitor = this.#within([HOLDFAST, 'dynkeepalived', ...files, ...words], env)
    return this.monitor
  }

  start(): void {
    this.startKeepalived()
    this.startMonitor()
  }

  /**
   * Kills all processes of the node, as a power failure does. The kernel keeps the addresses until the test removes
   * them.
   */
  kill(): void {
    this.keepalived?.killFamily()
    this.monitor?.killFamily()
  }

  /**
   * Returns the unicast peers of a VRRP instance, as keepalived's file lists them; an empty list if there is no file.
   */
  peers(instance: string): readonly string[] {
    const file = join(this.#folder, 'etc', 'keepalived.conf')
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const listed = new RegExp(`vrrp_instance ${instance} \\{[\\s\\S]*?unicast_peer \\{([^}]*)\\}`).exec(text)?.[1]
    return listed?.trim().split(/\s+/) ?? []
  }

  /** States that the instances entered, in order, as keepalived logs them, such as "ostest_API_0 MASTER". */
  get entered(): readonly string[] {
    return (this.keepalived?.lines ?? []).flatMap(({ text }) => {
      const said = /\((\w+)\) Entering (\w+) STATE/.exec(text)
      return said === null ? [] : [`${said[1]} ${said[2]}`]
    })
  }

  /**
   * Returns keepalived's log messages about problems of its file. The message that a password is cut to eight bytes is
   * left out, because the cluster's own file causes it too.
   */
  get complaints(): readonly string[] {
    const lines = (this.keepalived?.lines ?? []).map(({ text }) => text)
    return lines.filter(
      (text) => /\.conf: Line|warning|unknown|disabl/i.test(text) && !text.includes('Truncating auth_pass'),
    )
  }

  get sight() {
    const last = (process: LoggedProcess | undefined) => process?.lines.slice(-6).map(({ text }) => text)
    return { keepalived: last(this.keepalived), monitor: last(this.monitor) }
  }
}
