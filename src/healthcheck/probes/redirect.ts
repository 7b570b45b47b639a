/**
 * The next request after a redirect, as curl -L makes it: RFC 9110 §15.4, and without the headers that curl drops for
 * another host. The caller limits the number of redirects.
 */
import { FailedProbe } from '../failed-probe.ts'

export type HttpOrder = {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

/** Headers that are sent to the configured host only. */
const PERSONAL = ['authorization', 'cookie', 'host', 'proxy-authorization']

/** Returns the next request after a redirect. Throws FailedProbe. */
export function redirected(order: HttpOrder, status: number, location: string): HttpOrder {
  if (!URL.canParse(location, order.url.href))
    throw new FailedProbe('badAnswer', `Redirected to "${location}": invalid URL`)
  const url = new URL(location, order.url)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new FailedProbe('badAnswer', `Redirected to ${url.protocol}; only http: and https: are followed`)
  }
  const becomesGet =
    (status === 303 && order.method !== 'HEAD') || ((status === 301 || status === 302) && order.method === 'POST')
  const stays = url.origin === order.url.origin
  return {
    url,
    method: becomesGet ? 'GET' : order.method,
    headers: stays
      ? order.headers
      : Object.fromEntries(Object.entries(order.headers).filter(([name]) => !PERSONAL.includes(name))),
  }
}
