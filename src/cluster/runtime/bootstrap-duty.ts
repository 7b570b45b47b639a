/**
 * Releases the API's address on the bootstrap node when the control plane no longer needs it there. holdfast's engine
 * has no order `stop`, so `stop` is a configuration without virtual routers. A configuration without routers stays in
 * force over a restart of the agent. The time is decided in cluster/decisions/bootstrap-guard.ts.
 */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/message-of.ts'
import { AGENT_LOG } from '../../log/agent-events.ts'
import { type BootstrapOrder, looked, startBootstrapGuard } from '../decisions/bootstrap-guard.ts'
import type { AgentPorts } from './agent.ts'
import { doesIronicAnswer, isApiReady } from './api/api-health.ts'
import { factExists, putFact } from './fact-file.ts'
import type { Wishes } from './status/wishes.ts'

export type BootstrapPorts = {
  readonly wishes: Pick<Wishes, 'stoppedIs'>
  /** Sends an order to keepalived; `undefined` if the engine is holdfast itself. */
  readonly say: ((word: BootstrapOrder) => void) | undefined
  readonly log: AgentPorts['log']
  /** URL of this node's own API server. */
  readonly localApi: string
  readonly stateDirectory: string
}

const stoppedFile = (stateDirectory: string): string => join(stateDirectory, 'bootstrap-stopped')

/** Tells whether an earlier run of the agent stopped the engine and did not reload it. */
export const wasStopped = (stateDirectory: string): boolean => factExists(stoppedFile(stateDirectory))

/** Tests the API and Ironic, and gives orders to the engine, until `signal` is aborted. */
export async function watchBootstrap(
  { wishes, say, log, localApi, stateDirectory }: BootstrapPorts,
  signal: AbortSignal,
): Promise<void> {
  const file = stoppedFile(stateDirectory)
  let problem = ''
  function remember(isStopped: boolean): void {
    try {
      putFact(file, isStopped)
      problem = ''
    } catch (error) {
      const found = `Cannot ${isStopped ? 'write' : 'remove'} ${file}: ${messageOf(error)}`
      if (found !== problem) log(AGENT_LOG.bootstrapFileNotWritten, found)
      problem = found
    }
  }

  let guard = startBootstrapGuard(performance.now(), wasStopped(stateDirectory))
  while (!signal.aborted) {
    const [apiReady, ironicAnswers] = await Promise.all([isApiReady(`${localApi}/readyz`), doesIronicAnswer()])
    if (signal.aborted) return
    const next = looked(guard, { apiReady, ironicAnswers }, performance.now())
    guard = next.guard
    if (next.order !== undefined) {
      const isStopped = next.order === 'stop'
      log(AGENT_LOG.bootstrapOrder, `bootstrap node: ${next.order} the engine`, { apiReady, ironicAnswers })
      // The file is written before the engine is stopped. Because of this order, an agent that is killed between the
      // two steps starts as stopped, and checks again.
      if (isStopped) remember(true)
      if (say === undefined) wishes.stoppedIs(isStopped)
      else say(next.order)
      if (!isStopped) remember(false)
    }
    await sleep(Math.max(0, guard.nextLookAt - performance.now()), undefined, { signal }).catch(() => {})
  }
}
