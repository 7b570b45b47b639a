/**
 * Client of the daemon's control socket: one request, one answer, in bounded time, or a stream of events. Decides which
 * socket is trusted. Knows no request.
 */
import { statSync } from 'node:fs'
import { request } from 'node:http'
import { dirname } from 'node:path'

export type Question = {
  readonly path: string
  /** Present: a command; sent as JSON. */
  readonly order?: unknown
  /** Present: a command; sent as it is. */
  readonly text?: string
  /** Milliseconds for the whole answer. */
  readonly within: number
}
export type Answer = { readonly status: number; readonly body: string }

/** Rejects with Error when nobody answers there, or not in time. */
export async function ask(socketPath: string, { path, order, text, within }: Question): Promise<Answer> {
  refuseStranger(socketPath)
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
 * A stream of server-sent events: each `data:` is told until the stream ends, which resolves, as `signal` does. Rejects
 * with Error when there is none.
 */
export async function listen(
  socketPath: string,
  path: string,
  onData: (data: string) => void,
  signal: AbortSignal,
): Promise<void> {
  refuseStranger(socketPath)
  await new Promise<void>((resolve, reject) => {
    const headers = { accept: 'text/event-stream' }
    const asked = request({ socketPath, path, headers, agent: false, signal }, (response) => {
      if (response.statusCode !== 200) {
        asked.destroy()
        return reject(new Error(`it answered ${response.statusCode}`))
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

function refuseStranger(socketPath: string): void {
  const stranger = strangeOwner(socketPath)
  if (stranger !== undefined) throw new Error(`it belongs to the user ${stranger}, who is not the daemon's`)
}

/**
 * Where others may write to the folder, one of them can put his own socket there and answer as he likes. Ours belongs to
 * root, to us, or to the user who has the folder. What is not there fails by itself.
 */
function strangeOwner(socketPath: string): number | undefined {
  try {
    const { uid } = statSync(socketPath)
    const believed = [0, process.geteuid?.(), statSync(dirname(socketPath)).uid]
    return believed.includes(uid) ? undefined : uid
  } catch {
    return undefined
  }
}
