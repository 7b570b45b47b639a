/**
 * Where a redirect leads and what is asked there, as curl -L does it: RFC 9110 §15.4 plus what curl leaves behind when
 * it goes to another host. Refuses to know how many are too many.
 */
import { FailedProbe } from '../failed-probe.ts'

export type HttpOrder = {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

/** Meant for the host that the operator named, and for no other. */
const PERSONAL = ['authorization', 'cookie', 'host', 'proxy-authorization']

/** Throws FailedProbe. */
export function redirected(order: HttpOrder, status: number, location: string): HttpOrder {
  if (!URL.canParse(location, order.url.href)) throw new FailedProbe('badAnswer', `Redirected to "${location}": no URL`)
  const url = new URL(location, order.url)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new FailedProbe('badAnswer', `Redirected to ${url.protocol}, followed are http: and https: only`)
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
