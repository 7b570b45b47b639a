/**
 * Target of a request: path, query and host, in origin-form or absolute-form (RFC 9112 §3.2); in absolute-form the host
 * in the target counts, not the header. This file decides the host names by which clients may reach a port on loopback.
 * By this rule a web page of another site cannot read that port through a name that resolves to loopback (DNS
 * rebinding).
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
 * Tells whether a host name cannot belong to a foreign page: an address, localhost, or a name of this machine. An
 * HTTP/1.0 client without a host is no browser.
 */
export function isOurs(host: string | undefined, ours: readonly string[]): boolean {
  if (host === undefined) return true
  const name = host.replace(/:\d*$/, '').toLowerCase()
  if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return true
  return ['localhost', ...ours.map((each) => each.toLowerCase())].includes(name.replace(/\.$/, ''))
}
