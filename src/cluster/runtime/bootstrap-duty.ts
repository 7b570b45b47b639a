/**
 * The bootstrap node's duty to give up the API's address when nobody needs it there any more. Decided here: what `stop` is to
 * an engine that has no such word: a configuration with nothing to do; and that it holds over a start of the agent. When, is
 * cluster/decisions/bootstrap-guard.ts.
 */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/message-of.ts'
import { type BootstrapOrder, looked, startBootstrapGuard } from '../decisions/bootstrap-guard.ts'
import type { AgentPorts } from './agent.ts'
import { doesIronicAnswer, isApiReady } from './api/api-health.ts'
import { factStands, putFact } from './fact-file.ts'
import type { Wishes } from './status/wishes.ts'

export type BootstrapPorts = {
  readonly wishes: Pick<Wishes, 'stoppedIs'>
  /** keepalived's words; undefined: the engine is ours. */
  readonly say: ((word: BootstrapOrder) => void) | undefined
  readonly log: AgentPorts['log']
  /** URL of this node's own API server. */
  readonly localApi: string
  readonly stateDirectory: string
}

const stoppedFile = (stateDirectory: string): string => join(stateDirectory, 'bootstrap-stopped')

/** An earlier life of the agent has said `stop`, and no `reload` since. */
export const wasStopped = (stateDirectory: string): boolean => factStands(stoppedFile(stateDirectory))

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
      if (found !== problem) log('error', found)
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
      log('info', `bootstrap: ${next.order}`, { apiReady, ironicAnswers })
      // In this order an agent that is killed in between begins as stopped, and finds out.
      if (isStopped) remember(true)
      if (say === undefined) wishes.stoppedIs(isStopped)
      else say(next.order)
      if (!isStopped) remember(false)
    }
    await sleep(Math.max(0, guard.nextLookAt - performance.now()), undefined, { signal }).catch(() => {})
  }
}
