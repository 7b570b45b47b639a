/**
 * Reads the resolv.conf with the upstream DNS servers. With systemd-resolved, NetworkManager writes the address of
 * systemd-resolved there, and the servers of the network into a file beside it. A question to systemd-resolved would come
 * back, because systemd-resolved asks the DNS server of the node. Without the file beside it, the text stays as it is, as
 * for runtimecfg.
 */
import { dirname, join } from 'node:path'
import { isOfResolved } from '../../decisions/dns/upstreams.ts'
import { textIn } from '../machine.ts'

/** Returns the text that names the upstream servers; `undefined` if it cannot be read. */
export function upstreamText(resolvConf: string): string | undefined {
  const text = textIn(resolvConf)
  if (text === undefined || !isOfResolved(text)) return text
  return textIn(join(dirname(resolvConf), 'no-stub-resolv.conf')) ?? text
}
