/**
 * Finds the daemon that runs on this node. This file decides that it is the process that listens on the control socket.
 * The kernel names that process (SO_PEERCRED), with its process id in this namespace.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { LeaseSnapshot } from '../../daemon/guard/lease.ts'
import { ask } from '../../files/control-client.ts'
import type { Credentials } from '../../linux/native.ts'
import { socketPeer } from '../../linux/process/socket-peer.ts'

/** Milliseconds in which the daemon answers. */
const ANSWER_TIME = 2_000

export type RunningDaemon = {
  readonly pid: number
  /** Text of /proc/PID/status. */
  readonly status: string
  /** Whether the guardian repeats advertisements; `undefined` if the daemon did not answer, or is an earlier version. */
  readonly lease: LeaseSnapshot | undefined
}

/**
 * Returns the running daemon. `undefined` if no process listens on the control socket, or if that process cannot be
 * seen from this namespace.
 */
export async function runningDaemon(native: Credentials, socketPath: string): Promise<RunningDaemon | undefined> {
  const pid = await listenerOf(native, socketPath)
  if (pid === undefined || pid <= 0) return undefined
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return { pid, status, lease: await leaseAt(socketPath) }
  } catch {
    return undefined
  }
}

async function leaseAt(socketPath: string): Promise<LeaseSnapshot | undefined> {
  try {
    const { body, status } = await ask(socketPath, { path: '/v1/status', within: ANSWER_TIME })
    return status === 200 ? JSON.parse(body).lease : undefined
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
