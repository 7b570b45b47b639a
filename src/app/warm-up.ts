/**
 * Executes once, without a kernel, what `holdfast run` executes until a router is Backup and shortly after: it reads a
 * file, starts a daemon on simulated interfaces, and plays a failover. The code cache (docs/adr/0038) then contains
 * these functions. The warm-up runs when the package is built, and writes only to its own folder.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatProblem } from '../config/problem.ts'
import { resolveRouters } from '../config/resolve.ts'
import { Daemon } from '../daemon/daemon.ts'
import type { Link, NetworkPort, PresentAddress } from '../daemon/ports.ts'
import { Recorder } from '../daemon/telemetry/recorder.ts'
import { loadAny } from '../files/configuration-language.ts'
import { judgeScripts } from '../files/script-problem.ts'
import { openClock } from '../linux/clock.ts'
import { openGuardian } from '../linux/guardian/guardian.ts'
import { MUTE_NATIVE } from '../linux/mute-native.ts'
import { openSockets } from '../linux/sockets/sockets.ts'
import { LOG } from '../log/log.ts'
import { address } from '../wire/address.ts'
import { macFromBytes } from '../wire/mac.ts'
import { missingCapabilities } from './machine/capability.ts'
import { nodeView } from './machine/node.ts'
import { schedulingHere, schedulingText } from './machine/scheduling.ts'
import { vrrpBeside } from './machine/vrrp-beside.ts'
import { silentRehearsal } from './rehearsal.ts'

/** Addresses for documentation (RFC 5737, RFC 3849). */
const CONFIGURATION = `version: 1
api: { listen: 127.0.0.1:9655 }
healthchecks:
  - { name: api, http: "https://192.0.2.1:6443/readyz", interval: 1s, timeout: 900ms, rise: 3, fall: 2 }
virtualRouters:
  - name: api
    vrid: 51
    interface: eth0
    addresses: [192.0.2.100/24]
    priority: 40
    advertisementInterval: 1s
    transport: { unicast: { source: auto, peers: [192.0.2.2] } }
    track: [{ healthcheck: api, weight: 50 }]
  - { name: v6, vrid: 51, interface: eth0, addresses: ["fe80::51", "2001:db8::51"], advertisementInterval: 100ms }
syncGroups:
  - { name: both, members: [api, v6] }
`
const LINK: Link = {
  ...{ index: 1, name: 'eth0', mtu: 1500, up: true, running: true },
  mac: macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 1)),
}
const PRESENT: readonly PresentAddress[] = ['192.0.2.1', 'fe80::1'].map((text) => ({
  ...{ interfaceIndex: LINK.index, address: address(text), prefixLength: 24, tentative: false },
}))
const NETWORK: NetworkPort = {
  links: () => [LINK],
  addresses: () => PRESENT,
  apply: (steps) => steps.map((step) => ({ step, ok: true, changed: true })),
  settle: () => {},
  watch: () => {},
  drain: () => {},
  close: () => {},
}

/** Rejects with Error if the start that it plays would fail. */
export async function warmUp(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-warm-up-'))
  try {
    const file = join(folder, 'holdfast.yaml')
    writeFileSync(file, `${CONFIGURATION}runDirectory: ${JSON.stringify(folder)}\n`)
    await startOnce(file)
    for (const _ of silentRehearsal());
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  // Loads what is needed immediately after the first advertisement, and by the worker thread.
  await Promise.all([import('./log/log.ts'), import('../http/control-socket.ts'), import('../http/server.ts')])
}

async function startOnce(file: string): Promise<void> {
  const parsed = loadAny(file, undefined)
  if ('problems' in parsed) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const { config } = await judgeScripts(parsed.config, parsed.locate)
  missingCapabilities()
  vrrpBeside(false)
  schedulingText(schedulingHere(undefined))
  const { problems, config: settled, routers } = resolveRouters(config, nodeView(NETWORK, config), parsed.locate)
  for (const problem of [...parsed.warnings, ...problems]) formatProblem(problem)
  const clock = openClock(MUTE_NATIVE)
  const sockets = openSockets(MUTE_NATIVE, clock)
  const recorder = new Recorder()
  const ports = { clock, network: NETWORK, sockets, guardian: openGuardian('none'), recorder, resolved: routers }
  const daemon = new Daemon(settled, ports)
  daemon.start()
  recorder.log(LOG.rehearsed, 'warmed up')
  daemon.snapshot()
  daemon.close()
}
