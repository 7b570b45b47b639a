/**
 * Finds other programs that speak VRRP in this network namespace: compares the kernel's list of raw sockets of protocol
 * 112 with the descriptors of the visible processes. This file decides what counts as evidence (docs/adr/0019). A
 * hidden process (another PID namespace, hidepid) is never named; only its socket counts. This file does not know VRRP,
 * nor what the daemon does with the answer.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { socketsOf } from './process-sockets.ts'

export type VrrpSocketHolder = { readonly pid: number; readonly name: string }

export type VrrpSocketHolders = {
  /** Processes that certainly have a raw socket of protocol 112. */
  readonly holders: readonly VrrpSocketHolder[]
  /** Processes called keepalived in this network namespace whose descriptors may not be read. */
  readonly closed: readonly VrrpSocketHolder[]
  /** Number of raw sockets of protocol 112 without a visible process. */
  readonly unseen: number
}

const NO_HOLDERS: VrrpSocketHolders = { holders: [], closed: [], unseen: 0 }
/** Protocol 112 in the kernel's list of raw sockets. For TCP this field has the port. */
const VRRP_PORT = '0070'
const INODE = 9
const KEEPALIVED = 'keepalived'
const GUARDIAN = 'holdfast-guardian'

/** keepalived's processes may have other names (`process_names`), such as keepalived_vrrp. */
export const isKeepalived = ({ name }: VrrpSocketHolder): boolean => name.startsWith(KEEPALIVED)

/**
 * Returns the processes that hold VRRP sockets. `own` processes are left out: this process, and the guardian that
 * opened its sockets earlier.
 */
export function vrrpSocketHolders(own: readonly number[], proc = '/proc'): VrrpSocketHolders {
  const inodes = vrrpInodes(`${proc}/self/net`)
  for (const pid of own) for (const inode of socketsOf(`${proc}/${pid}/fd`) ?? []) inodes.delete(inode)
  // Usually no such socket exists. A start then costs no time on a node with thousands of processes.
  if (inodes.size === 0) return NO_HOLDERS
  const holders: VrrpSocketHolder[] = []
  const closed: VrrpSocketHolder[] = []
  const seen = new Set<string>()
  for (const entry of readdirSync(proc)) {
    if (!/^\d+$/.test(entry)) continue
    const pid = Number(entry)
    const sockets = socketsOf(`${proc}/${pid}/fd`)
    const held = sockets?.filter((inode) => inodes.has(inode)) ?? []
    for (const inode of held) seen.add(inode)
    if (own.includes(pid) || (sockets !== undefined && held.length === 0)) continue
    const process = { pid, name: nameOf(`${proc}/${pid}`) }
    if (sockets !== undefined) holders.push(process)
    else if (isKeepalived(process) && isHere(`${proc}/${pid}/net`, inodes)) closed.push(process)
  }
  return { holders, closed, unseen: [...inodes].filter((inode) => !seen.has(inode)).length }
}

/**
 * The list of raw sockets belongs to the network namespace. The sockets of the list were opened in this namespace,
 * wherever their processes are now.
 */
function vrrpInodes(net: string): Set<string> {
  const inodes = new Set<string>()
  for (const list of ['raw', 'raw6']) {
    for (const line of textOf(`${net}/${list}`).split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      const inode = fields[INODE]
      if (fields[1]?.endsWith(`:${VRRP_PORT}`) === true && inode !== undefined) inodes.add(inode)
    }
  }
  return inodes
}

/**
 * A process whose list shows the same sockets is in the same network namespace. Unlike `ns/net`, this list may be read
 * for any process.
 */
function isHere(net: string, inodes: ReadonlySet<string>): boolean {
  return [...vrrpInodes(net)].some((inode) => inodes.has(inode))
}

/**
 * Returns the name of the binary if it can be seen. The name of the process is not certain: an operator can choose the
 * names of keepalived's processes, and a guardian that runs in place of keepalived has the name keepalived.
 */
function nameOf(folder: string): string {
  const binary = basename(linkOf(`${folder}/exe`))
  return binary === KEEPALIVED || binary === GUARDIAN ? binary : textOf(`${folder}/comm`).trim()
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
