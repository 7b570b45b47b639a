/**
 * Client of the daemon's control socket: one request and one answer within a time limit, or a stream of events. This
 * file decides which socket is trusted. This file knows nothing about the meaning of a request.
 */
import { statSync } from 'node:fs'
import { request } from 'node:http'
import { dirname } from 'node:path'

export type Question = {
  readonly path: string
  /** Body of the request, sent as JSON; absent: no such body. */
  readonly order?: unknown
  /** Body of the request as text, sent unchanged; absent: no such body. */
  readonly text?: string
  /** Time limit of the whole answer, in milliseconds. */
  readonly within: number
}
export type Answer = { readonly status: number; readonly body: string }

/** Sends a request to the control socket. Rejects with Error if no answer arrives in time. */
export async function ask(socketPath: string, { path, order, text, within }: Question): Promise<Answer> {
  refuseForeignSocket(socketPath)
  return await new Promise((resolve, reject) => {
    const body = text ?? (order === undefined ? undefined : JSON.stringify(order))
    const method = body === undefined ? 'GET' : 'POST'
    const asked = request({ socketPath, path, method, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', fail)
      response.on('end', () => {
        clearTimeout(late)
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') })
      })
    })
    const late = setTimeout(
      () => asked.destroy(Object.assign(new Error(`no answer in ${within} ms`), { code: 'ETIMEDOUT' })),
      within,
    )
    function fail(error: Error): void {
      clearTimeout(late)
      reject(error)
    }
    asked.on('error', fail)
    asked.end(body)
  })
}

/**
 * Passes on the data of each server-sent event until the stream ends or `signal` is aborted. Rejects with Error if the
 * stream cannot be opened.
 */
export async function listen(
  socketPath: string,
  path: string,
  onData: (data: string) => void,
  signal: AbortSignal,
): Promise<void> {
  refuseForeignSocket(socketPath)
  await new Promise<void>((resolve, reject) => {
    const headers = { accept: 'text/event-stream' }
    const asked = request({ socketPath, path, headers, agent: false, signal }, (response) => {
      if (response.statusCode !== 200) {
        asked.destroy()
        return reject(new Error(`the daemon answered with status ${response.statusCode}`))
      }
      let rest = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line.startsWith(DATA)) onData(line.slice(DATA.length))
      })
      response.on('close', resolve)
      response.on('error', reject)
    })
    asked.on('error', (error) => (signal.aborted ? resolve() : reject(error)))
    asked.end()
  })
}

const DATA = 'data: '

function refuseForeignSocket(socketPath: string): void {
  const uid = foreignUser(socketPath)
  if (uid !== undefined) throw new Error(`the socket belongs to user ${uid}, not to the user of the daemon`)
}

/**
 * Returns the user of a control socket that is not trusted; `undefined` for a trusted socket. If other users may write
 * to the folder, one of them can put a socket there and answer with anything. A trusted socket belongs to root, to the
 * user of this process, or to the user of the folder. A missing socket causes an error later.
 */
function foreignUser(socketPath: string): number | undefined {
  try {
    const { uid } = statSync(socketPath)
    const trusted = [0, process.geteuid?.(), statSync(dirname(socketPath)).uid]
    return trusted.includes(uid) ? undefined : uid
  } catch {
    return undefined
  }
}
