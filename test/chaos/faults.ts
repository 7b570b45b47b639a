/**
 * Inflicts each fault on the lab and undoes it, without blocking the caller. Decides commands. The time of a fault
 * begins before the first command and ends after the last one. This file does not know the cost of a fault, nor its
 * place in a plan. A cut is made in the bridge, so that no process on a node notices: an nftables rule on the node
 * would answer send() with EPERM.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import { type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { type ChaosNode, VIPS } from './chaos-node.ts'
import type { Fault, NodeName } from './plan.ts'

export type Arena = {
  readonly lab: Lab
  readonly nodes: Readonly<Record<NodeName, ChaosNode>>
  /** Runs during every millisecond of a fault, and ends early with it. */
  readonly aborted: AbortSignal
  readonly complain: (text: string) => void
}

const HOGS = 2
const RELOADS = 50
const CARRIER = 100
const STATION = join(packageRoot(), 'test', 'support', 'chaos-station.mjs')

/** Resolves when the command has ended, with the text of its failure: another fault may have changed the node. */
function command(argv: readonly string[], input = ''): Promise<string> {
  const [file = '', ...rest] = argv
  return new Promise((resolve) => {
    const child = spawn(file, rest, { stdio: ['pipe', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code) => resolve(code === 0 ? '' : `${argv.join(' ')}: ${said.trim() || code}`))
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}

const batch = (namespace: string, lines: readonly string[]): Promise<string> =>
  command(['ip', '-n', namespace, '-force', '-batch', '-'], `${lines.join('\n')}\n`)

/** Returns the MAC of a router, which stays when its interface is created again. */
export const macOf = (host: Host): string => `02:00:00:77:00:${(host.address.split('.')[3] ?? '').padStart(2, '0')}`
export const addressesOf = (host: Host): string[] => [`${host.address}/24`, `fd00:77::${host.address.split('.')[3]}/64`]

const added = (host: Host, device: string): string[] =>
  addressesOf(host).map((one) => `address add ${one} dev ${device}${one.includes(':') ? ' nodad' : ''}`)

const VRRP = ['ether type ip ip protocol 112', 'ether type ip6 ip6 nexthdr 112']

/**
 * Loads the rules of one fault as one nftables table. Every frame from port to port passes the rules, a broadcast once
 * for each port. Returns false if the bridge did not take the rules.
 */
async function whileRules(arena: Arena, id: number, rules: readonly string[], during: () => Promise<void>) {
  const { bridge } = arena.lab
  const nft = ['ip', 'netns', 'exec', bridge, 'nft', '-f', '-']
  const chain = 'chain cut {\ntype filter hook forward priority 0;'
  const refused = await command(nft, `table bridge fault${id} {\n${chain}\n${rules.join('\n')}\n}\n}\n`)
  arena.complain(refused)
  await during()
  arena.complain(await command(nft, `delete table bridge fault${id}\n`))
  return refused === ''
}

const set = (hosts: readonly Host[]): string => `{ ${hosts.map(({ port }) => `"${port}"`).join(', ')} }`
const cut = (one: readonly Host[], other: readonly Host[], what: readonly string[] = ['']): string[] =>
  what.map((match) => `iifname ${set(one)} oifname ${set(other)} ${match} drop`)

function oneWay(node: Host, others: readonly Host[], variant: string): string[] {
  const what = variant.endsWith('vrrp') ? VRRP : ['']
  return variant.startsWith('out') ? cut([node], others, what) : cut(others, [node], what)
}

function partition(lab: Lab, node: Host, variant: string): string[] {
  const hosts = [...lab.hosts.values()]
  const routers = lab.routers
  const side = variant === 'with client' ? [node, ...hosts.filter((host) => !routers.includes(host))] : [node]
  const rest = hosts.filter((host) => !side.includes(host))
  if (variant !== 'routers') return [...cut(side, rest), ...cut(rest, side)]
  return routers.flatMap((host) =>
    cut(
      [host],
      routers.filter((other) => other !== host),
    ),
  )
}

/** Returns false if a command had failed by the end, so that the fault had no effect or only a part of it. */
async function whileRunning(children: readonly ChildProcess[], during: () => Promise<void>): Promise<boolean> {
  await during()
  const ran = children.every(({ exitCode }) => exitCode === null || exitCode === 0)
  for (const child of children) {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The process has ended by itself.
    }
  }
  return ran
}

async function toBridge({ complain }: Arena, host: Host, during: () => Promise<void>): Promise<void> {
  const moved = addressesOf(host).map((one) => `address del ${one} dev eth0`)
  // A bridge has no carrier for some ms, until the kernel has looked at its first port. If the node's kernel asks for the
  // client's address in that time, the question is lost, and the kernel repeats it after a second.
  const join = [
    `link add br-ex address ${macOf(host)} type bridge stp_state 0 forward_delay 0 mcast_snooping 0`,
    'link set br-ex up',
    'link set eth0 master br-ex',
  ]
  complain(await batch(host.namespace, join))
  await sleep(CARRIER)
  complain(await batch(host.namespace, [...moved, ...added(host, 'br-ex')]))
  await during()
  // The port does not go first: the kernel reports the lost carrier of a bridge up to a second late (linkwatch), and
  // nothing looks wrong until then.
  const undo = ['link del br-ex', ...added(host, 'eth0')]
  complain(await batch(host.namespace, undo))
}

async function withoutInterface({ lab, complain }: Arena, host: Host, during: () => Promise<void>): Promise<void> {
  complain(await batch(host.namespace, ['link del eth0']))
  await during()
  const cable = `link add ${host.port} type veth peer name eth0 address ${macOf(host)} netns ${host.namespace}`
  complain(await batch(lab.bridge, [cable, `link set ${host.port} master br0 up`]))
  complain(await batch(host.namespace, [...added(host, 'eth0'), 'link set eth0 up', ...added(host, 'eth0').slice(1)]))
}

async function reloads(
  node: ChaosNode,
  { ms, variant }: Fault,
  pause: (ms: number) => Promise<void>,
): Promise<boolean> {
  const own: number = { r1: 200, r2: 150, r3: 100 }[node.host.name] ?? 100
  // Below the next priority and back, or only a little less: the best node changes with every second reload, or never.
  const other = variant === 'demoted' ? own - 60 : own - 10
  for (let i = 1; i < RELOADS; i++) {
    node.reload(i % 2 === 1 ? other : own)
    await pause(ms / RELOADS)
  }
  return node.reload(own)
}

export type Inflicted = {
  readonly at: number
  readonly end: number
  /** False if the process or the address was not there, if the bridge did not take the rules, or if a station failed. */
  readonly hit: boolean
}

/** Inflicts the fault and undoes it. */
export async function inflict(fault: Fault, arena: Arena): Promise<Inflicted> {
  const { lab, nodes, aborted } = arena
  const { id, kind, variant, ms } = fault
  const node = nodes[fault.node]
  const { host } = node
  const others = [...lab.hosts.values()].filter((one) => one !== host)
  const pause = (time: number) => (aborted.aborted ? Promise.resolve() : sleep(time))
  const during = () => pause(ms)
  const station = (...words: string[]) =>
    lab.spawn(lab.host('outsider'), [process.execPath, STATION, ...words], { stdio: 'ignore' })
  const at = monotonicMs()
  let end: number | undefined
  let hit = true
  switch (kind) {
    case 'kill engine':
    case 'kill guardian':
    case 'kill group':
      node.restartIn(ms)
      hit =
        kind === 'kill group'
          ? node.killGroup()
          : node.signal([kind === 'kill engine' ? 'engine' : 'guardian'], 'SIGKILL')
      end = monotonicMs()
      break
    case 'freeze engine':
    case 'freeze guardian':
    case 'freeze both':
      hit = node.signal(
        kind === 'freeze both' ? ['engine', 'guardian'] : [kind === 'freeze engine' ? 'engine' : 'guardian'],
        'SIGSTOP',
      )
      await during()
      node.thaw()
      break
    case 'link flap':
      lab.unplug(host)
      await during()
      lab.plug(host)
      break
    case 'one way':
      hit = await whileRules(arena, id, oneWay(host, others, variant), during)
      break
    case 'loss 30 %': {
      const what = VRRP.map((match) => `${match} numgen random mod 100 < 30`)
      hit = await whileRules(arena, id, [...cut([host], others, what), ...cut(others, [host], what)], during)
      break
    }
    case 'partition':
      hit = await whileRules(arena, id, partition(lab, host, variant), during)
      break
    case 'VIP deleted': {
      // On a node without the address the command has no effect.
      const deleted = VIPS.map((vip) => `address del ${vip}/${vip === LAB_VIP ? 32 : 128} dev eth0`)
      hit = (await batch(host.namespace, deleted)) === ''
      break
    }
    case 'address to bridge':
      await toBridge(arena, host, during)
      break
    case 'interface gone':
      await withoutInterface(arena, host, during)
      break
    case 'clock step':
      hit = node.stepClock(variant === '-1 h' ? -3_600_000 : 3_600_000)
      end = monotonicMs()
      break
    case 'CPU hogs': {
      const hogs = Array.from({ length: HOGS }, () =>
        lab.spawn(host, ['sh', '-c', 'while :; do :; done'], { stdio: 'ignore' }),
      )
      hit = await whileRunning(hogs, during)
      break
    }
    case 'reload storm':
      hit = await reloads(node, fault, pause)
      break
    case 'packet flood':
      hit = await whileRunning([station('flood', '51', LAB_VIP, String(ms))], during)
      break
    case 'forged': {
      const priority = { 'priority 255': '255', 'priority 0': '0' }[variant] ?? '50'
      // Priority 0 counts only from the Active, so the packet has the Active's source.
      const source = variant === 'priority 0' ? host.address : lab.host('outsider').address
      hit = await whileRunning([station('forge', '51', LAB_VIP, String(ms), priority, source)], during)
      break
    }
  }
  return { at, end: end ?? monotonicMs(), hit }
}
