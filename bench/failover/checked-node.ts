/**
 * Runs a node whose daemon checks its services. The checks are either those of OpenShift's own keepalived, made with
 * curl (three scripts, priority 40), or a single HTTP check (priority 40 + 50). This file decides that both daemons
 * check the same services at the same times, each in its own way. This file does not know what happens to the services.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { Keepalived, type TrackedScript } from '../../src/lab/daemons/keepalived.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import type { Certificate } from '../../test/support/certificates.ts'

export const QUESTIONS = ['none', 'page', 'openshift'] as const
export type Questions = (typeof QUESTIONS)[number]
export type CheckedKind = 'holdfast' | 'keepalived'

/** TCP ports of the service that fails, for each set of checks, and of the services that never fail. */
const PORTS = { page: ['8080'], openshift: ['9444'], own: ['6443s'] } as const
/** File whose content is the HTTP status of the failing service, for each set of checks. */
export const PAGE: Readonly<Record<Exclude<Questions, 'none'>, string>> = {
  page: '8080',
  openshift: '9444-haproxy_ready',
}

/** Effective priority of a node whose services work, and of a node whose service has failed, for each set of checks. */
export const SUM: Readonly<Record<Questions, { readonly well: number; readonly failed: number }>> = {
  none: { well: 40, failed: 40 },
  page: { well: 90, failed: 40 },
  openshift: { well: 68, failed: 48 },
}

export class CheckedNode {
  readonly folder: string
  readonly services: readonly LoggedProcess[]

  constructor(lab: Lab, host: Host, questions: Questions, { key, cert }: Certificate) {
    this.folder = join(lab.directory, `services-${host.name}`)
    mkdirSync(this.folder)
    for (const [name, text] of Object.entries({ 'key.pem': key, 'cert.pem': cert, rules: '', mcs: '' })) {
      writeFileSync(join(this.folder, name), text)
    }
    const serve = (ports: readonly string[]) => {
      const program = join(packageRoot(), 'test', 'support', 'ready-ports.mjs')
      return new LoggedProcess(lab, host, [process.execPath, program, this.folder, ...ports])
    }
    this.services = questions === 'none' ? [] : [serve(PORTS[questions])]
    if (questions === 'openshift') this.services = [...this.services, serve(PORTS.own)]
  }

  async ready(): Promise<void> {
    await Promise.all(this.services.map((service) => service.line(/listening/, 10_000)))
  }
}

const script = (folder: string, name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/bash\n${text}\n`)
  chmodSync(path, 0o755)
  return path
}

/**
 * Returns the check scripts of OpenShift's machine-config-operator. The command `crictl` is missing here, so both
 * daemons check the machine-config-server by a file.
 */
function openshiftScripts(folder: string): readonly TrackedScript[] {
  const lb = `/usr/bin/curl -o /dev/null -kLfs http://localhost:9444/haproxy_ready && [ -e ${folder}/rules ]`
  const own = '/usr/bin/curl -o /dev/null -kLfs https://localhost:6443/readyz'
  const often = { interval: 2, rise: 3, fall: 3 }
  const bounded = (name: string, text: string) => `/usr/bin/timeout 1.9 ${script(folder, name, text)}`
  return [
    { name: 'chk_ocp_lb', command: bounded('chk_ocp_script.sh', lb), weight: 20, ...often },
    { name: 'chk_ocp_both', command: bounded('chk_ocp_script_both.sh', `${lb} || ${own}`), weight: 5, ...often },
    { name: 'chk_mcs', command: bounded('chk_mcs_script.sh', `[ -e ${folder}/mcs ]`), weight: 3, ...often },
  ]
}

const PAGE_SCRIPT = '/usr/bin/curl -o /dev/null -Lfs http://localhost:8080/'

export function startKeepalived(lab: Lab, plan: RouterPlan, questions: Questions, folder: string): Keepalived {
  const page: TrackedScript = { name: 'chk_page', command: PAGE_SCRIPT, interval: 1, weight: 50 }
  return new Keepalived(lab, plan, questions === 'none' ? [] : questions === 'page' ? [page] : openshiftScripts(folder))
}

export function startHoldfast(lab: Lab, plan: RouterPlan, questions: Questions, folder: string): Holdfast {
  if (questions === 'none') return new Holdfast(lab, plan)
  if (questions === 'page') {
    const page = { name: 'page', http: 'http://localhost:8080/', interval: '1s', redirects: true }
    return new Holdfast(lab, plan, { track: [{ healthcheck: 'page', weight: 50 }] }, [], { healthchecks: [page] })
  }
  // The checks of the preset are used, except for the folder in which this node's agent writes its files.
  const often = { interval: '2s', timeout: '1.9s', rise: 3, fall: 3 }
  const healthchecks = [
    { name: 'openshift-iptables', file: join(folder, 'rules'), ...often },
    { name: 'openshift-mcs', file: join(folder, 'mcs'), ...often },
  ]
  return new Holdfast(lab, plan, { preset: 'openshift-api' }, [], { healthchecks })
}
