/**
 * Sends one request to the API of another node. This file decides the limits of time and size, and that redirects are
 * not followed. This file does not know the meaning of an answer.
 */

import { get as httpGet } from 'node:http'
import { get as httpsGet } from 'node:https'
import { newNames } from '../former-names.ts'

/**
 * Limit of another node's answer in octets, enough for 255 routers. A worker thread of 64 MiB can hold any JSON of this
 * size as objects, which take about 40 octets for each octet.
 */
export const LARGEST_ANSWER = 1 << 20

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused (the API does not run there)',
  ECONNRESET: 'the connection was closed',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'the host name is unknown',
}

/** Returns the answer of another node as a JSON value. Rejects with Error whose message is the reason. */
export async function askPeer(url: URL, within: number): Promise<unknown> {
  const body = await textOf(url, within)
  try {
    return JSON.parse(body, newNames)
  } catch {
    throw new Error('the answer is not JSON')
  }
}

function textOf(url: URL, within: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === 'https:' ? httpsGet : httpGet
    const asked = get(url, { agent: false, headers: { accept: 'application/json' } }, (response) => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        length += chunk.length
        if (length > LARGEST_ANSWER) asked.destroy(new Error('the answer is too long'))
        else chunks.push(chunk)
      })
      response.on('error', fail)
      response.on('end', () => {
        clearTimeout(late)
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString('utf8'))
        else reject(new Error(`it answered ${response.statusCode}`))
      })
    })
    const late = setTimeout(() => asked.destroy(new Error(`no answer within ${within} ms`)), within)
    function fail(error: Error): void {
      clearTimeout(late)
      const code = 'code' in error ? String(error.code) : ''
      reject(new Error(WORDS[code] ?? error.message))
    }
    asked.on('error', fail)
  })
}
