/**
 * Whether the API server of this very node answers, and whether a bootstrap node's Ironic does: asked without verifying who
 * answers, as the monitor of keepalived asks. Never throws: no answer in time is no.
 */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

const TIMEOUT = 5000
export const IRONIC = 'http://localhost:6385/v1'

/** Ready says 200; anything else is not ready. */
export const isApiReady = async (url: string, timeout: number = TIMEOUT): Promise<boolean> =>
  (await statusOf(url, timeout)) === 200

/** Any answer is one. */
export const doesIronicAnswer = async (url: string = IRONIC, timeout: number = TIMEOUT): Promise<boolean> =>
  (await statusOf(url, timeout)) !== undefined

function statusOf(url: string, timeout: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    // A connection of its own each time: a kept one would say how the last API server was.
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
