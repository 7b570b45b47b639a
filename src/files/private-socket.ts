/**
 * A unix socket for those who may command. Decided here: they are root and the daemon's own user, and the kernel says
 * who it is (SO_PEERCRED); mode 0600 keeps the others from connecting at all. A socket file that an earlier life left is
 * taken over; one that somebody still listens on is not. Refuses to know what is said over it.
 */

import { mkdirSync, statSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { dirname } from 'node:path'
import { messageOf } from '../base/message-of.ts'
import { unsafeFolder } from './socket-folder.ts'

export type ControlPeer = { readonly pid: number; readonly uid: number }

/** Undefined: nobody can say who it is; then it is refused. */
export function mayCommand(peer: ControlPeer | undefined, own = process.geteuid?.() ?? 0): boolean {
  return peer !== undefined && (peer.uid === 0 || peer.uid === own)
}

/** Rejects with Error when the path cannot be used; its message names the path. */
export async function listenPrivately(server: Server, path: string, onUnsafe: (why: string) => void): Promise<void> {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  } catch (cause) {
    throw new Error(`Cannot listen on ${path}: ${messageOf(cause)}`, { cause })
  }
  const unsafe = unsafeFolder(path)
  if (unsafe !== undefined) onUnsafe(unsafe)
  if (await isAnswered(path)) throw new Error(`Cannot listen on ${path}: another daemon answers there`)
  removeStale(path)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(new Error(`Cannot listen on ${path}: ${cause.message}`, { cause })))
    // Bound before listen() returns: with a chmod afterwards it would be open to all for a moment.
    const before = process.umask(0o177)
    try {
      server.listen(path, () => resolve())
    } finally {
      process.umask(before)
    }
  })
}

/**
 * Listens on the path for a moment, and removes a stale socket for it. Returns why that is impossible; `undefined` when it is
 * possible, and also when another daemon answers there, which listenPrivately() reports.
 */
export async function unusableSocket(path: string): Promise<string | undefined> {
  if (await isAnswered(path)) return undefined
  const probe = createServer()
  try {
    await listenPrivately(probe, path, () => {})
  } catch (error) {
    return `${messageOf(error)}: without its socket "holdfast status" and a liveness probe get no answer. Remove what is there, make room, or set api.socket`
  }
  await new Promise((resolve) => probe.close(resolve))
  return undefined
}

/** Another daemon lives behind this path. */
export async function isAnswered(path: string): Promise<boolean> {
  return isSocket(path) && (await answers(path))
}

function removeStale(path: string): void {
  if (!isSocket(path)) return
  try {
    unlinkSync(path)
  } catch (cause) {
    const why = messageOf(cause)
    throw new Error(`Cannot listen on ${path}: a socket of an earlier run is there (${why})`, { cause })
  }
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
