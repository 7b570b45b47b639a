/**
 * Symptoms as an operator on call meets them, each made on a LAN of its own with real daemons. The tests run the
 * commands of docs/troubleshooting.md and docs/operations.md there. Decides how a symptom begins and ends. This file
 * does not know the content of the pages.
 */
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { type Extra, Holdfast, holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { ip, macOf } from '../../src/lab/ip.ts'
import { createLab, HOLDFAST, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { removeRepeatedly } from '../support/removed-again.ts'

/** Interval in ms. The interval is long, so that busy cores do not make an Active late. */
const INTERVAL = 500
const [FILE, SOCKET, JOURNAL] = [
  '/etc/holdfast/holdfast.yaml',
  '/run/holdfast/holdfast.sock',
  '/run/holdfast/events.jsonl',
] as const
/** Settings of a daemon that logs to the systemd journal. */
const JOURNALD = { log: { format: 'journald' } }
/** Limit in ms for process starts on a busy machine. */
const WITHIN = 30_000
const [R1, R2, R3] = ['10.77.0.11', '10.77.0.12', '10.77.0.13']

type Settings = {
  readonly plan?: Partial<RouterPlan>
  readonly extra?: Extra
  readonly top?: Extra
}

export class Stage {
  readonly lab: Lab
  readonly #daemons = new Map<Host, Holdfast>()

  constructor() {
    this.lab = createLab({ routers: 3, clients: ['client', 'other'] })
  }

  #plan(position: number, priority: number, plan: Partial<RouterPlan> = {}): RouterPlan {
    return { host: this.lab.router(position), priority, intervalMs: INTERVAL, address: LAB_VIP, ...plan }
  }

  start(position: number, priority: number, { plan, extra, top }: Settings = {}): Holdfast {
    const daemon = new Holdfast(this.lab, this.#plan(position, priority, plan), extra, [], { ...JOURNALD, ...top })
    this.#daemons.set(this.lab.router(position), daemon)
    return daemon
  }

  /** Starts r1 as Active and r2 as Backup. */
  async pair(first: Settings = {}, second: Settings = {}): Promise<readonly [Holdfast, Holdfast]> {
    const daemons = [this.start(1, 200, first), this.start(2, 100, second)] as const
    await Promise.all(daemons.map((daemon) => daemon.ready()))
    await this.heldBy('r1')
    return daemons
  }

  /** Returns the path of the configuration file of a daemon on this router. */
  file(position: number): string {
    return join(this.lab.directory, `r${position}.yaml`)
  }

  write(position: number, text = holdfastConfig(this.#plan(position, 100), this.lab.directory)): void {
    writeFileSync(this.file(position), text)
  }

  heldBy(...names: readonly string[]): Promise<unknown> {
    const holders = () => this.lab.holders(LAB_VIP).join()
    const sight = () => ({ holders: holders(), logs: [...this.#daemons.values()].map(({ lines }) => lines.slice(-3)) })
    return eventually(`the address on ${names.join() || 'nobody'}`, () => holders() === names.join(), {
      sight,
      every: 50,
    })
  }

  ip(name: string, command: string): string {
    return ip(this.lab.host(name), command)
  }

  nft(name: string, rules: string): void {
    this.lab.exec(this.lab.host(name), ['nft', rules])
  }

  /** Runs a command as an operator types it. Returns its output, whatever its exit status is. */
  ask(name: string, command: string): Promise<string> {
    const host = this.lab.host(name)
    const here = this.#placesOf(host)
    const typed = Object.entries(here).reduce((text, [page, place]) => text.replaceAll(page, place), worded(command))
    const [file = '', ...argv] = this.lab.commandOn(host, ['sh', '-c', `exec 2>&1; ${typed}`])
    const env = { ...process.env, PATH: `${join(HOLDFAST, '..')}:${process.env.PATH}` }
    return new Promise((resolve) =>
      execFile(file, argv, { env, timeout: WITHIN }, (_, stdout) =>
        resolve(Object.entries(here).reduce((text, [page, place]) => text.replaceAll(place, page), stdout)),
      ),
    )
  }

  /** Returns, for each path of a node, its place in the lab: all namespaces share the files of one machine. */
  #placesOf(host: Host): Readonly<Record<string, string>> {
    const daemon = this.#daemons.get(host)
    const directory = join(this.lab.directory, `holdfast-${host.name}`)
    // The lines as the systemd journal reads them: the prefix is the priority (test/netns/journald.test.ts has a real journal).
    const records = (daemon?.lines ?? []).map(({ text }) => /^<([0-7])>(.*)$/.exec(text) ?? [text, '6', text])
    const shown = (least: number) => {
      const file = join(this.lab.directory, `${host.name}-${least}.log`)
      const lines = records.filter(([, priority]) => Number(priority) <= least)
      writeFileSync(file, lines.map(([, , text]) => `${text}\n`).join(''))
      return `cat ${file}`
    }
    return {
      [FILE]: daemon?.file ?? this.file(this.lab.routers.indexOf(host) + 1),
      [SOCKET]: join(directory, 'holdfast.sock'),
      [JOURNAL]: join(directory, 'events.jsonl'),
      'journalctl -p warning -u holdfast -o cat': shown(4),
      'journalctl -u holdfast -o cat': shown(7),
    }
  }
}

/** Replaces a node's default paths, which do not exist in the lab. */
const worded = (command: string): string =>
  command
    .replace(/^holdfast (status|yield|reload|stop)\b/, `$& -s ${SOCKET}`)
    .replace(/^holdfast (explain|events)\b/, `$& -s ${SOCKET} --file ${JOURNAL}`)

export type Symptom = {
  readonly make: (stage: Stage) => Promise<unknown>
  /** Action that the page recommends. Absent if the command's answer does not end. */
  readonly end?: (stage: Stage) => Promise<unknown>
}

const DROP_VRRP =
  'add table ip t; add chain ip t i { type filter hook input priority 0; }; add rule ip t i ip protocol 112 drop'
const API = { api: { listen: '127.0.0.1:9655' } }
const V2 = { version: 2, intervalMs: 1_000 } as const
const unicast = (...unicastPeers: readonly string[]): Settings => ({ plan: { unicastPeers } })
const service = (stage: Stage, track: Extra, check: Extra = {}): Settings => {
  const file = join(stage.lab.directory, 'service')
  writeFileSync(file, '')
  return {
    extra: { track: [{ healthcheck: 'service', ...track }] },
    top: { healthchecks: [{ name: 'service', file, interval: '100ms', ...check }] },
  }
}
const fails = (stage: Stage) => rmSync(join(stage.lab.directory, 'service'))
const works = async (stage: Stage) => writeFileSync(join(stage.lab.directory, 'service'), '')
/** Starts two routers that are both Active, because neither receives the other. */
const apart = async (stage: Stage, first: Settings, second: Settings) => {
  stage.start(1, 200, first)
  stage.start(2, 100, second)
  await stage.heldBy('r1', 'r2')
}

export const SYMPTOMS: Readonly<Record<string, Symptom>> = {
  'packet-filter': {
    make: async (stage) => {
      stage.nft('r2', DROP_VRRP)
      await apart(stage, {}, { plan: { peers: [R1] } })
    },
    end: async (stage) => stage.nft('r2', 'delete table ip t'),
  },
  version: {
    make: (stage) => apart(stage, {}, { plan: V2 }),
  },
  password: {
    make: (stage) => apart(stage, { plan: { ...V2, password: 'secret' } }, { plan: { ...V2, password: 'geheim' } }),
  },
  interval: {
    make: (stage) => apart(stage, { plan: V2 }, { plan: { ...V2, intervalMs: 2_000 } }),
  },
  transport: {
    make: (stage) => apart(stage, {}, unicast(R1)),
  },
  vrid: {
    make: (stage) => apart(stage, {}, { plan: { vrid: 52 } }),
  },
  'peer-lists': {
    make: (stage) => apart(stage, unicast(R3), unicast(R3)),
  },
  otherHost: {
    make: async (stage) => {
      await stage.pair()
      stage.ip('other', `address add ${LAB_VIP}/32 dev eth0`)
    },
    end: async (stage) => stage.ip('other', `address delete ${LAB_VIP}/32 dev eth0`),
  },
  'check-fails-everywhere': {
    make: async (stage) => {
      const tracked = service(stage, { weight: 0 })
      await stage.pair(tracked, tracked)
      fails(stage)
      await stage.heldBy()
    },
    end: works,
  },
  'no-carrier': {
    make: async (stage) => {
      stage.start(1, 200)
      await stage.heldBy('r1')
      stage.lab.unplug(stage.lab.router(1))
      await stage.heldBy()
    },
    end: async (stage) => stage.lab.plug(stage.lab.router(1)),
  },
  'interface-missing': {
    make: async (stage) => stage.start(1, 200, { extra: { interface: 'eth9' } }),
    end: async (stage) => {
      stage.ip('r1', 'link add eth9 type veth peer name far')
      for (const end of ['eth9', 'far']) stage.ip('r1', `link set ${end} up`)
      stage.ip('r1', 'address add 10.78.0.1/24 dev eth9')
    },
  },
  'source-missing': {
    make: async (stage) => {
      stage.start(1, 200)
      await stage.heldBy('r1')
      stage.ip('r1', `address delete ${R1}/24 dev eth0`)
    },
    end: async (stage) => stage.ip('r1', `address add ${R1}/24 dev eth0`),
  },
  'first-start': {
    make: async (stage) => stage.start(1, 200, { plan: { intervalMs: 3_000 } }),
  },
  'not-tracked': {
    make: async (stage) => {
      const { top = {} } = service(stage, {})
      await stage.pair({ top })
      fails(stage)
    },
  },
  'weight-too-small': {
    make: async (stage) => {
      await stage.pair(service(stage, { weight: -50 }))
      fails(stage)
    },
  },
  flaps: {
    make: async (stage) => {
      // The status of the other node reaches this node over the HTTP port.
      await stage.pair(service(stage, { weight: -150 }), { top: { api: { listen: `${R2}:9655`, public: true } } })
      for (let turn = 0; turn < 2; turn++) {
        fails(stage)
        await stage.heldBy('r2')
        await works(stage)
        await stage.heldBy('r1')
      }
    },
  },
  preempt: {
    make: async (stage) => {
      stage.start(2, 100)
      await stage.heldBy('r2')
      stage.start(1, 200, { plan: { preempt: false } })
    },
    end: async (stage) => stage.ask('r2', 'holdfast yield vip --for 2s'),
  },
  'preempt-delay': {
    make: async (stage) => {
      stage.start(2, 100)
      await stage.heldBy('r2')
      stage.start(1, 200, { extra: { preemptDelay: '12s' } })
    },
    end: (stage) => stage.heldBy('r1'),
  },
  neighbour: {
    make: async (stage) => {
      await stage.pair()
      stage.ip('client', `neighbour replace ${LAB_VIP} lladdr ${macOf(stage.lab.host('r2'))} dev eth0 nud permanent`)
    },
    end: async (stage) => stage.ip('client', `neighbour delete ${LAB_VIP} dev eth0`),
  },
  forwarding: { make: async (stage) => stage.write(1) },
  'left-behind': {
    make: async (stage) => {
      const daemon = stage.start(1, 200, { extra: { lifetime: 'off' } })
      await stage.heldBy('r1')
      daemon.killAll()
      await daemon.exited
    },
    end: async (stage) => stage.ip('r1', `address delete ${LAB_VIP}/32 dev eth0`),
  },
  removed: {
    make: async (stage) => {
      await stage.pair({ top: API })
      stage.ip('r1', `address delete ${LAB_VIP}/32 dev eth0`)
    },
  },
  'removed-again-and-again': {
    make: async (stage) => {
      const [first] = await stage.pair()
      const stop = removeRepeatedly(stage.lab, stage.lab.router(1))
      await eventually('r1 to resign', async () => (await first.router()).restorationsPaused !== null, {
        sight: () => first.router(),
      }).finally(stop)
    },
  },
  'command-line': { make: async (stage) => stage.write(1) },
  capability: { make: async (stage) => stage.write(1) },
  'wrong-file': {
    make: async (stage) =>
      stage.write(
        1,
        'version: 1\nvirtualRouters:\n  - name: vip\n    vrid: 510\n    interface: eth0\n    addresses: [10.77.0.100/24]\n',
      ),
  },
  'second-daemon': { make: (stage) => stage.pair() },
  'check-unknown': {
    make: async (stage) => {
      // With the default timeout of 100 ms a read is late on a busy machine; the check is then down, not unknown.
      const tracked = service(stage, { weight: 50 }, { content: 'weight', timeout: '5s' })
      writeFileSync(join(stage.lab.directory, 'service'), 'many')
      await stage.pair(tracked)
    },
    end: async (stage) => writeFileSync(join(stage.lab.directory, 'service'), '1'),
  },
  'ipv6-duplicate': {
    make: async (stage) => {
      const own = 'fe80::11/64'
      for (const name of ['other', 'r1']) {
        stage.ip(name, 'link set eth0 addrgenmode none')
        stage.ip(name, '-6 address flush dev eth0 scope link')
      }
      stage.ip('other', `-6 address add ${own} dev eth0 nodad`)
      stage.ip('r1', `-6 address add ${own} dev eth0`)
      stage.start(1, 200, { plan: { address: 'fd00:77::100' } })
    },
    end: async (stage) => {
      stage.ip('r1', '-6 address flush dev eth0 scope link')
      stage.ip('r1', '-6 address add fe80::12/64 dev eth0')
    },
  },
  'not-running': { make: async () => {} },
  frozen: {
    make: async (stage) => {
      const [first] = await stage.pair()
      first.freeze()
      await stage.heldBy('r2')
    },
  },
  'foreign-name': { make: (stage) => stage.pair({ top: API }) },
  'port-taken': {
    make: async (stage) => {
      const words = 'require("net").createServer().listen(9655, "127.0.0.1", () => console.log("listens"))'
      await new LoggedProcess(stage.lab, stage.lab.router(1), [process.execPath, '-e', words]).line(/listens/, WITHIN)
      await stage.pair({ top: API })
    },
  },
  'no-port': { make: (stage) => stage.pair() },
  drain: { make: (stage) => stage.pair() },
  back: { make: (stage) => stage.pair() },
  upgrade: { make: (stage) => stage.pair() },
}
