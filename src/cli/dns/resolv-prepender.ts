/**
 * `holdfast resolv-prepender`: makes this node's own DNS server the first one of the node. This file decides how long
 * the command waits for NetworkManager, and its exit status. The files are decided in cluster/runtime/dns.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT } from '../../app/exit-code.ts'
import { messageOf } from '../../base/message-of.ts'
import { refusedValue } from '../../base/refused-value.ts'
import { isHostName } from '../../cluster/decisions/dns/dns-name.ts'
import { hasServer } from '../../cluster/decisions/dns/resolv-conf.ts'
import { ensureServer, NM_RESOLV_CONF, prepend } from '../../cluster/runtime/dns/resolv-prepender.ts'
import { textIn } from '../../cluster/runtime/machine.ts'
import { type Address, parseAddress } from '../../wire/address.ts'
import { type CommandResult, usage } from '../command.ts'
import { type NodeIpOptions, nodeIpCommand } from '../node-ip.ts'

export type PrependerFlags = Omit<NodeIpOptions, 'values' | 'json' | 'retryOnFailure'> & {
  readonly domain: string
  readonly nodeAddress?: string
}

const PAUSE = 500

export async function resolvPrependerCommand(vips: readonly string[], flags: PrependerFlags): Promise<CommandResult> {
  const { domain, nodeAddress, root } = flags
  if (!isHostName(domain)) return usage(refusedValue('--domain', domain, 'a name in DNS, NAME.DOMAIN of the cluster'))
  if (nodeAddress !== undefined && parseAddress(nodeAddress) === undefined)
    return usage(refusedValue('--node-address', nodeAddress, 'an IP address'))
  try {
    const networkManager = await networkManagersText(root)
    const copied = ensureServer(root, networkManager)
    const address = await addressOf(vips, flags)
    if (typeof address !== 'string') return address
    const domains = `${process.env.IP4_DOMAINS ?? ''} ${process.env.IP6_DOMAINS ?? ''}`.split(/\s+/).filter(Boolean)
    const found = await prepend({ root, networkManager, domains, own: { address, domain } })
    if ('problem' in found) return failed(found.problem)
    const changed = [...new Set([...copied, ...found.changed])]
    return said(changed.length === 0 ? 'nothing changed' : `written: ${changed.join(', ')}`)
  } catch (error) {
    return failed(`Cannot write the DNS settings: ${messageOf(error)}`)
  }
}

/** Returns NetworkManager's resolv.conf as soon as it names a server. With DHCP the servers may come late. */
async function networkManagersText(root: string): Promise<string> {
  const file = join(root, NM_RESOLV_CONF)
  for (let isFirst = true; ; isFirst = false) {
    const text = textIn(file)
    if (text !== undefined && hasServer(text)) return text
    if (isFirst) process.stderr.write(`holdfast: ${file} names no server yet; waiting\n`)
    await sleep(PAUSE)
  }
}

async function addressOf(vips: readonly string[], flags: PrependerFlags): Promise<Address | CommandResult> {
  const given = flags.nodeAddress === undefined ? undefined : parseAddress(flags.nodeAddress)
  if (given !== undefined) return given
  const shown = await nodeIpCommand('show', { ...flags, values: vips })
  if (shown.exitCode !== EXIT.ok) return shown
  return parseAddress(shown.stdout.trim()) ?? failed(`Cannot use the node's address ${JSON.stringify(shown.stdout)}`)
}

const said = (text: string): CommandResult => ({ exitCode: EXIT.ok, stdout: `${text}\n`, stderr: '' })
const failed = (text: string): CommandResult => ({ exitCode: EXIT.failure, stdout: '', stderr: `holdfast: ${text}\n` })
