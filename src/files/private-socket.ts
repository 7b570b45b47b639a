/**
 * A unix socket for users who may command the daemon: root, and the daemon's own user. The kernel tells the user of a
 * client (SO_PEERCRED), and mode 0600 keeps other users from connecting. A socket file of an earlier run is replaced,
 * unless a process still listens on it. This file knows nothing about the protocol.
 */

import { mkdirSync, statSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { dirname } from 'node:path'
import { messageOf } from '../base/message-of.ts'
import { unsafeFolder } from './socket-folder.ts'

export type ControlPeer = { readonly pid: number; readonly uid: number }

/** Tells whether a client may command the daemon. A client whose user is unknown is refused. */
export function mayCommand(peer: ControlPeer | undefined, own = process.geteuid?.() ?? 0): boolean {
  return peer !== undefined && (peer.uid === 0 || peer.uid === own)
}

/** Listens on the path with mode 0600. Rejects with Error if the path cannot be used; its message names the path. */
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
    // The socket must have its mode when listen() returns: before a later chmod, every user could connect.
    const before = process.umask(0o177)
    try {
      server.listen(path, () => resolve())
    } finally {
      process.umask(before)
    }
  })
}

/**
 * Tests whether the process can listen on the path, and removes a stale socket first. Returns the reason if that is
 * impossible, otherwise `undefined`. A daemon that already uses the path is not an error here; listenPrivately()
 * reports it.
 */
export async function unusableSocket(path: string): Promise<string | undefined> {
  if (await isAnswered(path)) return undefined
  const probe = createServer()
  try {
    await listenPrivately(probe, path, () => {})
  } catch (error) {
    return `${messageOf(error)}. Without this socket, "holdfast status" and liveness probes get no answer. Remove the file at this path, free space, or set api.socket`
  }
  await new Promise((resolve) => probe.close(resolve))
  return undefined
}

/** Tells whether another daemon listens on this path. */
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
