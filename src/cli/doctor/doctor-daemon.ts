/**
 * Finds the daemon that runs on this node. This file decides that it is the process that listens on the control socket.
 * The kernel names that process (SO_PEERCRED), with its process id in this namespace.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Credentials } from '../../linux/native.ts'
import { socketPeer } from '../../linux/process/socket-peer.ts'

/** `status` is the text of /proc/PID/status. */
export type RunningDaemon = { readonly pid: number; readonly status: string }

/**
 * Returns the running daemon. `undefined` if no process listens on the control socket, or if that process cannot be
 * seen from this namespace.
 */
export async function runningDaemon(native: Credentials, socketPath: string): Promise<RunningDaemon | undefined> {
  const pid = await listenerOf(native, socketPath)
  if (pid === undefined || pid <= 0) return undefined
  try {
    return { pid, status: readFileSync(`/proc/${pid}/status`, 'utf8') }
  } catch {
    return undefined
  }
}

function listenerOf(native: Credentials, socketPath: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    socket.once('error', () => resolve(undefined))
    socket.once('connect', () => {
      resolve(socketPeer(native, socket)?.pid)
      socket.destroy()
    })
  })
}
