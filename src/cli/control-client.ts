/**
 * The command line's end of the control socket: one question, one answer, in bounded time. What cannot be reached is
 * said in one line and one exit status, the same for every command. Decided here: whose socket is believed. Refuses to
 * know what is asked.
 */
import { statSync } from 'node:fs'
import { request } from 'node:http'
import { dirname } from 'node:path'
import type { CommandResult } from './check.ts'
import { EXIT } from './exit-code.ts'

export type Question = {
  readonly path: string
  /** Present: a command; sent as JSON. */
  readonly order?: unknown
  /** Milliseconds for the whole answer. */
  readonly within: number
}
export type Answer = { readonly status: number; readonly body: string }

/** Rejects with Error when nobody answers there, or not in time. */
export async function ask(socketPath: string, { path, order, within }: Question): Promise<Answer> {
  const stranger = strangeOwner(socketPath)
  if (stranger !== undefined) throw new Error(`it belongs to the user ${stranger}, who is not the daemon's`)
  return await new Promise((resolve, reject) => {
    const method = order === undefined ? 'GET' : 'POST'
    const asked = request({ socketPath, path, method, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', fail)
      response.on('end', () => {
        clearTimeout(late)
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') })
      })
    })
    const late = setTimeout(() => asked.destroy(new Error(`no answer in ${within} ms`)), within)
    function fail(error: Error): void {
      clearTimeout(late)
      reject(error)
    }
    asked.on('error', fail)
    asked.end(order === undefined ? undefined : JSON.stringify(order))
  })
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

export function unreachable(socket: string, error: unknown): CommandResult {
  const why = error instanceof Error ? error.message : String(error)
  return {
    exitCode: EXIT.unreachable,
    stdout: '',
    stderr: `holdfast: Cannot reach the daemon at ${socket}: ${why}\n`,
  }
}

/** The daemon is there and says no. */
export const refused = (message: string): CommandResult => ({
  exitCode: EXIT.failure,
  stdout: '',
  stderr: `holdfast: ${message}\n`,
})
