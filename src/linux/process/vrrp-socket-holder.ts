/**
 * Who else speaks VRRP in this network namespace, before we do: the kernel's list of raw sockets of protocol 112 against
 * the descriptors of the processes that can be seen. Decided here: what counts as evidence (docs/adr/0019); a process
 * that hides (another PID namespace, hidepid) is never named, only its socket is counted. Refuses to know what follows
 * from it, and VRRP.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { socketsOf } from './process-sockets.ts'

export type VrrpSocketHolder = { readonly pid: number; readonly name: string }

export type VrrpSocketHolders = {
  /** Processes that certainly have such a socket. */
  readonly holders: readonly VrrpSocketHolder[]
  /** Called keepalived and of this network namespace, but we may not look at their descriptors. */
  readonly closed: readonly VrrpSocketHolder[]
  /** Sockets that belong to nobody whom we could look at. */
  readonly unseen: number
}

const NOBODY: VrrpSocketHolders = { holders: [], closed: [], unseen: 0 }
/** The protocol stands where TCP has its port. */
const VRRP_PORT = '0070'
const INODE = 9
const KEEPALIVED = 'keepalived'
const GUARDIAN = 'holdfast-guardian'

/** Its processes may have names of their own (`process_names`): keepalived_vrrp. */
export const isKeepalived = ({ name }: VrrpSocketHolder): boolean => name.startsWith(KEEPALIVED)

/** `own` are left out: this process, and the guardian that opened its sockets before us. */
export function vrrpSocketHolders(own: readonly number[], proc = '/proc'): VrrpSocketHolders {
  const inodes = vrrpInodes(`${proc}/self/net`)
  for (const pid of own) for (const inode of socketsOf(`${proc}/${pid}/fd`) ?? []) inodes.delete(inode)
  // As a rule: then a node with thousands of processes costs a start no time.
  if (inodes.size === 0) return NOBODY
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

/** The list is the namespace's own: what stands in it was opened here, wherever its process is now. */
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

/** Who sees the same sockets lives in the same namespace; unlike `ns/net` this may be asked about any process. */
function isHere(net: string, inodes: ReadonlySet<string>): boolean {
  return [...vrrpInodes(net)].some((inode) => inodes.has(inode))
}

/**
 * By its binary where that can be seen: keepalived lets the operator choose the names of its processes, and a guardian
 * in keepalived's place has its name.
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
