/**
 * Status and commands over the unix socket, on the engine's own thread, so that it answers when everything else hangs.
 * Mode 0600: whoever may connect may also command. A socket file that an earlier life left is taken over; one that
 * somebody still listens on is not. What a command does is the caller's business.
 */
import { chmodSync, mkdirSync, rmSync, statSync } from 'node:fs'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import type { Snapshot } from '../daemon/snapshot.ts'
import { type Commands, createApi, json } from './server.ts'

/** Rejects with Error when the path cannot be used; its message names the path. */
export async function openControlSocket(
  path: string,
  snapshot: () => Snapshot,
  commands: Commands = {},
): Promise<Server> {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  } catch (cause) {
    throw new Error(`Cannot listen on ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
  if (await isAnswered(path)) throw new Error(`Cannot listen on ${path}: another daemon answers there`)
  if (isSocket(path)) rmSync(path)
  const server = createApi({ '/v1/status': () => json(snapshot()) }, commands)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(new Error(`Cannot listen on ${path}: ${cause.message}`, { cause })))
    server.listen(path, () => resolve())
  })
  chmodSync(path, 0o600)
  return server
}

/** Another daemon lives behind this path. */
export async function isAnswered(path: string): Promise<boolean> {
  return isSocket(path) && (await answers(path))
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket()
  } catch {
    return false
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
}
