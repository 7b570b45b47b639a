/**
 * Lists the faults of a lab node, and how each fault is repaired. This file decides that each fault is made from
 * outside of the container, either to the container or to the machine's end of its network cable. This file does not
 * measure the consequences of a fault.
 */
import { spawnSync } from 'node:child_process'
import { command } from './command.ts'
import { type Lab, ROUTERS } from './lab.ts'

export type Fault = {
  readonly name: string
  readonly title: string
  /**
   * True if the fault needs root on the machine that runs the containers, because the fault changes the machine's end
   * of the container's network cable.
   */
  readonly root?: true
  /**
   * Name of the node that has the virtual addresses after the fault; absent: any of the three nodes except the failed
   * one.
   */
  readonly successor?: string
  /** Prepares the lab before the fault. The time of this preparation is not measured. */
  readonly prepare?: (lab: Lab) => Promise<unknown>
  readonly strike: (lab: Lab) => Promise<unknown>
  /** Repairs the fault; absent if the fault ends by itself. */
  readonly mend?: (lab: Lab) => Promise<unknown>
  /** True if both sides of the fault continue as Active, so that no node has the addresses alone before the repair. */
  readonly splits?: true
}

/** Runs a Docker command for several services of the lab, for all of them at the same time. */
const docker =
  (...words: readonly string[]) =>
  (services: readonly string[]) =>
  (lab: Lab): Promise<unknown> =>
    Promise.all(services.map((service) => lab.project.docker(words, [service])))

const FIRST = ['r1'] as const
const start = docker('start')

/**
 * Shell script that exhausts the container's memory. Each of its processes uses less memory than the engine, and the
 * kernel kills the largest process.
 */
const EATING = 'for i in 1 2 3 4 5 6; do (head -c 40m /dev/zero; sleep 10) | tail >/dev/null & done; wait'

/**
 * Returns the name of the machine's end of the container's network cable. After a disconnect, the container's end may
 * have another name than eth0.
 */
async function cableOf(lab: Lab): Promise<string> {
  const index = (await lab.project.exec('r1', ['sh', '-c', 'cat /sys/class/net/eth*/iflink'])).trim()
  const lines = await command(['ip', '-oneline', 'link', 'show'])
  const name = new RegExp(`^${index}: ([^@:]+)`, 'm').exec(lines)?.[1]
  if (name === undefined) throw new Error(`Cannot find interface ${index}, the other end of the cable of r1`)
  return name
}

const carrier = (state: 'up' | 'down') => async (lab: Lab) =>
  command(['ip', 'link', 'set', 'dev', await cableOf(lab), state])

const TABLE = ['table', 'netdev', 'holdfast_lab'] as const
/**
 * Removes the packet filter rules when this process ends, even if the lab ends early. The removal of the container
 * would only remove the chains.
 */
function passAtExit(): void {
  spawnSync('nft', ['delete', ...TABLE], { stdio: 'ignore' })
}

/**
 * Drops only VRRP packets (IP protocol 112), in both directions and both address families. All other packets still
 * pass.
 */
async function loseAdvertisements(lab: Lab): Promise<void> {
  const cable = await cableOf(lab)
  const chain = (hook: string) =>
    `chain ${hook} { type filter hook ${hook} device "${cable}" priority 0; meta l4proto 112 drop; };`
  process.once('exit', passAtExit)
  await command(['nft', `${TABLE.join(' ')} { ${chain('ingress')} ${chain('egress')} }`])
}

async function passAdvertisements(): Promise<void> {
  await command(['nft', 'delete', ...TABLE])
  process.off('exit', passAtExit)
}

async function connect(lab: Lab): Promise<string> {
  const where = ['--ip', '198.51.100.11', '--ip6', 'fd42:51::11', lab.project.lan]
  return command(['docker', 'network', 'connect', ...where, await lab.project.container('r1')])
}

async function keepalivedIsUp(lab: Lab): Promise<void> {
  await lab.project.compose(['up', '--detach', '--no-deps', 'keepalived'], false)
}

export const FAULTS: readonly Fault[] = [
  {
    name: 'drain',
    title: 'drained (`holdfast yield lab4 --for 8s`)',
    strike: (lab) => lab.project.exec('r1', ['holdfast', 'yield', 'lab4', '--for', '8s']),
  },
  { name: 'stop', title: '`docker stop`', strike: docker('stop')(FIRST), mend: start(FIRST) },
  { name: 'kill', title: '`docker kill`', strike: docker('kill')(FIRST), mend: start(FIRST) },
  {
    name: 'oom',
    title: 'out of memory, the engine is killed',
    strike: (lab) => lab.project.exec('r1', ['sh', '-c', EATING], ['--detach']),
    mend: start(FIRST),
  },
  { name: 'pause', title: '`docker pause`', strike: docker('pause')(FIRST), mend: docker('unpause')(FIRST) },
  {
    name: 'disconnect',
    title: '`docker network disconnect`',
    strike: (lab) => lab.project.docker(['network', 'disconnect', lab.project.lan], FIRST),
    mend: connect,
  },
  { name: 'carrier', title: 'cable pulled (carrier lost)', root: true, strike: carrier('down'), mend: carrier('up') },
  {
    name: 'split',
    title: 'split brain (protocol 112 dropped)',
    root: true,
    splits: true,
    strike: loseAdvertisements,
    mend: passAdvertisements,
  },
  {
    name: 'keepalived',
    title: 'all three stopped, keepalived beside them',
    successor: 'keepalived',
    prepare: keepalivedIsUp,
    strike: docker('stop')(ROUTERS),
    mend: start(ROUTERS),
  },
]
