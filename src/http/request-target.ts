/**
 * Target of a request: path, query and host, in origin-form or absolute-form (RFC 9112 §3.2); in absolute-form its own
 * host counts, not the header. Decided here: by which host names a port on loopback may be reached. A web page of
 * another site cannot read it through a name of its own that resolves to loopback (DNS rebinding).
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

export type Target = { readonly path: string; readonly query: string; readonly host: string | undefined }

const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i

export function targetOf({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>): Target {
  const [, authority, rest] = ABSOLUTE.exec(url) ?? []
  const [path = '', ...query] = (rest ?? url).split('?')
  return { path: path === '' ? '/' : path, query: query.join('?'), host: authority ?? headers.host }
}

/**
 * Returns whether a foreign page cannot have this host name: an address, localhost, or a name of this machine. HTTP/1.0
 * without a host is no browser.
 */
export function isOurs(host: string | undefined, ours: readonly string[]): boolean {
  if (host === undefined) return true
  const name = host.replace(/:\d*$/, '').toLowerCase()
  if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return true
  return ['localhost', ...ours.map((each) => each.toLowerCase())].includes(name.replace(/\.$/, ''))
}
