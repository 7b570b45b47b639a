/**
 * What a request asks for, and in whose name: path, query and host, out of the origin-form and the absolute-form
 * (RFC 9112 §3.2), whose host counts instead of the header. Decided here: by which names a port that only this machine
 * reaches may be asked, so that no page can read it through a name of its own that leads to loopback (DNS rebinding).
 * Refuses to know what is there.
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

/** A name that a foreign page cannot have: an address, localhost, or one of ours. HTTP/1.0 without a host is no browser. */
export function isOurs(host: string | undefined, ours: readonly string[]): boolean {
  if (host === undefined) return true
  const name = host.replace(/:\d*$/, '').toLowerCase()
  if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return true
  return ['localhost', ...ours.map((each) => each.toLowerCase())].includes(name.replace(/\.$/, ''))
}
