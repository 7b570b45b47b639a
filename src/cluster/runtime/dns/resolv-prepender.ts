/**
 * Writes the DNS settings of the node itself, and makes other programs read them. This file decides the order of the
 * writes: the file that kubelet waits for comes last. If no file changes, this command writes no file and calls no
 * program.
 */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { hasServer, type OwnServer, prependedResolvConf, resolvedText } from '../../decisions/dns/resolv-conf.ts'
import { factExists, putFact, replaceFile } from '../fact-file.ts'
import { textIn } from '../machine.ts'
import { ask } from '../program.ts'

export const NM_RESOLV_CONF = 'var/run/NetworkManager/resolv.conf'
export const RESOLV_CONF = 'etc/resolv.conf'
export const RESOLVED_FILE = 'etc/systemd/resolved.conf.d/60-kni.conf'
/** File that kubelet's ExecCondition looks for. */
export const DONE = 'run/resolv-prepender-kni-conf-done'
const WITHIN = 30_000

export type PrependerOptions = {
  readonly root: string
  readonly own: OwnServer
  /** Search domains that DHCP gave. */
  readonly domains: readonly string[]
  /** Text of NetworkManager's resolv.conf. */
  readonly networkManager: string
}

export type Prepended = { readonly changed: readonly string[] } | { readonly problem: string }

/**
 * Copies NetworkManager's resolv.conf if the node has no DNS server at all, because the choice of the node's address
 * may take a while. A link stays, because the program that writes its file may not have started yet. Throws the error of
 * the file system.
 */
export function ensureServer(root: string, networkManager: string): readonly string[] {
  const file = join(root, RESOLV_CONF)
  if (isLink(file) || hasServer(textIn(file) ?? '')) return []
  replaceFile(file, networkManager)
  return [file]
}

/** Writes the settings. Throws the error of the file system; in that case the old files stay. */
export async function prepend(options: PrependerOptions): Promise<Prepended> {
  const { root } = options
  const isResolved = 'stdout' in (await ask(['systemctl', '-q', 'is-enabled', 'systemd-resolved'], WITHIN))
  const file = join(root, isResolved ? RESOLVED_FILE : RESOLV_CONF)
  const text = isResolved
    ? resolvedText(options.own, options.domains)
    : prependedResolvConf(options.networkManager, options.own)
  const done = join(root, DONE)
  const isSame = textIn(file) === text && (isResolved || !isLink(file))
  if (isSame && factExists(done)) return { changed: [] }
  // An interrupted run is repeated as a whole, so that no program keeps the old settings.
  putFact(done, false)
  if (!isSame) replaceFile(file, text)
  const failed = await (isResolved ? restartResolved() : reloadNetworkManager())
  if (failed !== undefined) return { problem: failed }
  putFact(done, true)
  return { changed: isSame ? [done] : [file, done] }
}

/** A link to the file of another program would be replaced by that program's next write. */
function isLink(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

async function restartResolved(): Promise<string | undefined> {
  const active = await ask(['systemctl', '-q', 'is-active', 'systemd-resolved'], WITHIN)
  // systemd-resolved reads the file when it starts.
  if ('failed' in active) return undefined
  const found = await ask(['systemctl', 'restart', 'systemd-resolved'], WITHIN)
  return 'failed' in found ? `Cannot restart systemd-resolved: ${found.failed}` : undefined
}

/** Makes NetworkManager look up the name of the host again, which it may have missed without a DNS server. */
async function reloadNetworkManager(): Promise<string | undefined> {
  const found = await ask(['nmcli', 'general', 'reload', 'dns-rc'], WITHIN)
  return 'failed' in found ? `Cannot reload NetworkManager: ${found.failed}` : undefined
}
