/** Reads the status of a holdfast daemon over its control socket. */
import type { Snapshot } from '../daemon/telemetry/snapshot.ts'
import { ask } from '../files/control-client.ts'

const WITHIN = 3_000

/** Returns the daemon's answer to `/v1/status`; `undefined` if the daemon does not answer within 3 s. */
export async function snapshotOf(socket: string): Promise<Snapshot | undefined> {
  const answer = await ask(socket, { path: '/v1/status', within: WITHIN }).catch(() => undefined)
  if (answer?.status !== 200) return undefined
  const snapshot: Snapshot = JSON.parse(answer.body)
  return snapshot
}
