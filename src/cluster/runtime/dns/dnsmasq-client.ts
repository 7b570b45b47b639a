/**
 * Calls dnsmasq on the system's message bus with systemd's program `busctl`. This file decides the names on the bus and
 * the time limit. No function throws.
 */
import { ask } from '../program.ts'

const NAME = 'uk.org.thekelleys.dnsmasq'
const PATH = '/uk/org/thekelleys/dnsmasq'
const WITHIN = 2_000

export type DnsmasqClient = {
  /** Returns the unique name of dnsmasq on the bus; `undefined` if dnsmasq does not run; the reason if the bus is not reached. */
  readonly owner: () => Promise<{ readonly owner: string | undefined } | { readonly failed: string }>
  /** Replaces the servers that were given over the bus. Returns the reason of a failure. */
  readonly setDomainServers: (servers: readonly string[]) => Promise<string | undefined>
  /** Makes dnsmasq read its files of hosts again. Returns the reason of a failure. */
  readonly clearCache: () => Promise<string | undefined>
}

export const busDnsmasq: DnsmasqClient = {
  async owner() {
    const found = await busctl('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus', [
      ...['GetNameOwner', 's', NAME],
    ])
    if ('stdout' in found) return { owner: /"([^"]+)"/.exec(found.stdout)?.[1] }
    return /does not exist|no such name|NameHasNoOwner/i.test(`${found.failed}${found.stderr}`)
      ? { owner: undefined }
      : { failed: found.failed }
  },
  setDomainServers: (servers) => call(['SetDomainServers', 'as', String(servers.length), ...servers]),
  clearCache: () => call(['ClearCache']),
}

const busctl = (service: string, path: string, face: string, words: readonly string[]) =>
  ask(['busctl', '--system', '--auto-start=no', 'call', service, path, face, ...words], WITHIN)

async function call(words: readonly string[]): Promise<string | undefined> {
  const found = await busctl(NAME, PATH, NAME, words)
  return 'failed' in found ? found.failed : undefined
}
