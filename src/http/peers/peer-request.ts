/**
 * One question to the API of another node. Decided here: how long it may take and how much may come back, and that nobody
 * is sent on elsewhere. Refuses to know what is asked, and what the answer means.
 */

import { get as httpGet } from 'node:http'
import { get as httpsGet } from 'node:https'
import { newNames } from '../former-names.ts'

/** 255 routers, and what a worker thread of 64 MiB takes as objects, whatever JSON it is: some 40 octets for each of it. */
const LARGEST_ANSWER = 1 << 20

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'it hung up',
  EHOSTUNREACH: 'it cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  ENOTFOUND: 'nobody has this name',
}

/** JSON as it stands. Rejects with Error whose message says why there is none. */
export async function askPeer(url: URL, within: number): Promise<unknown> {
  const body = await textOf(url, within)
  try {
    return JSON.parse(body, newNames)
  } catch {
    throw new Error('its answer is no JSON')
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
        if (length > LARGEST_ANSWER) asked.destroy(new Error('its answer is too long'))
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
