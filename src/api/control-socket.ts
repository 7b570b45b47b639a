/**
 * Status and commands over the unix socket, on the engine's own thread, so that it answers when everything else hangs.
 * Decided here: who may command is root and the daemon's own user, and the kernel says who it is (SO_PEERCRED); mode
 * 0600 keeps the others from connecting at all. A socket file that an earlier life left is taken over; one that somebody
 * still listens on is not. What a command does is the caller's business.
 */
import { mkdirSync, rmSync, statSync } from 'node:fs'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Snapshot } from '../daemon/snapshot.ts'
import { type Commands, createApi, json } from './server.ts'
import { unsafeFolder } from './socket-folder.ts'

export type ControlPeer = { readonly pid: number; readonly uid: number }

export type ControlPorts = {
  readonly snapshot: () => Snapshot
  readonly commands?: Commands
  /** Undefined: nobody can say; then it is refused. */
  readonly peerOf: (socket: Socket) => ControlPeer | undefined
  readonly onRefused: (peer: ControlPeer | undefined) => void
  readonly onUnsafe: (message: string) => void
}

/** Rejects with Error when the path cannot be used; its message names the path. */
export async function openControlSocket(path: string, ports: ControlPorts): Promise<Server> {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  } catch (cause) {
    throw new Error(`Cannot listen on ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
  const unsafe = unsafeFolder(path)
  if (unsafe !== undefined) ports.onUnsafe(`The control socket ${path} is not in a safe place: ${unsafe}`)
  if (await isAnswered(path)) throw new Error(`Cannot listen on ${path}: another daemon answers there`)
  if (isSocket(path)) rmSync(path)
  const { refusal, connected } = gate(ports)
  const server = createApi({ '/v1/status': () => json(ports.snapshot()) }, ports.commands, refusal)
  server.on('connection', connected)
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
  return server
}

/** The kernel is asked when somebody connects: later it may be another process that has the pid. */
function gate({ peerOf, onRefused }: ControlPorts) {
  const own = process.geteuid?.() ?? 0
  const admitted = new WeakSet<Socket>()
  return {
    connected(socket: Socket): void {
      const peer = peerOf(socket)
      if (peer !== undefined && (peer.uid === 0 || peer.uid === own)) admitted.add(socket)
      else onRefused(peer)
    },
    refusal: (socket: Socket): string | undefined =>
      admitted.has(socket) ? undefined : `Only root and the user ${own} may ask here`,
  }
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
