/**
 * Makes the octets of an HTTP request (RFC 9112 §3). This file decides the default headers, and that a connection
 * carries one request only. The configuration has rejected invalid header values.
 */
import type { HttpOrder } from './redirect.ts'

/** HTTP methods without a body. For other methods a server expects a body, or Content-Length: 0 (RFC 9110 §8.6). */
const WITHOUT_BODY = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']

export function requestOf({ url, method, headers }: HttpOrder): Buffer {
  const length = WITHOUT_BODY.includes(method) || 'transfer-encoding' in headers ? {} : { 'content-length': '0' }
  const said = {
    host: url.host,
    'user-agent': 'holdfast',
    accept: '*/*',
    connection: 'close',
    ...length,
    ...headers,
  }
  const lines = Object.entries(said).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
}
