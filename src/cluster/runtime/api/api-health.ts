/**
 * Tests whether the API server of this node answers, and whether Ironic answers on a bootstrap node. The certificate is
 * not verified, as in keepalived's monitor. No function throws: a missing answer counts as no.
 */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

const TIMEOUT = 5000
export const IRONIC = 'http://localhost:6385/v1'

/** Tells whether the API server is ready: it answers with status 200. */
export const isApiReady = async (url: string, timeout: number = TIMEOUT): Promise<boolean> =>
  (await statusOf(url, timeout)) === 200

/** Tells whether Ironic answers, with any status. */
export const doesIronicAnswer = async (url: string = IRONIC, timeout: number = TIMEOUT): Promise<boolean> =>
  (await statusOf(url, timeout)) !== undefined

function statusOf(url: string, timeout: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    // Every request opens a new connection: an existing connection would show the state of an earlier API server.
    const options = { agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(timeout) }
    const ask = url.startsWith('https:') ? requestHttps : requestHttp
    const asked = ask(url, options, (answer) => {
      resolve(answer.statusCode)
      answer.destroy()
    })
    asked.on('error', () => resolve(undefined))
    asked.end()
  })
}
