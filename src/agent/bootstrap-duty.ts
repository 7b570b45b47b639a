/**
 * The bootstrap node's duty to give up the API's address when nobody needs it there any more. Decided here: what `stop` is to
 * an engine that has no such word: a configuration with nothing to do. When, is kubernetes/bootstrap-guard.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { looked, startBootstrapGuard } from '../kubernetes/bootstrap-guard.ts'
import type { Agent, AgentPorts } from './agent.ts'
import { doesIronicAnswer, isApiReady } from './api-health.ts'

export type BootstrapPorts = {
  readonly agent: Pick<Agent, 'wants'>
  /** keepalived's words; undefined: the engine is ours. */
  readonly say: ((word: 'stop' | 'reload') => void) | undefined
  readonly log: AgentPorts['log']
  /** URL of this node's own API server. */
  readonly localApi: string
}

export async function watchBootstrap(
  { agent, say, log, localApi }: BootstrapPorts,
  signal: AbortSignal,
): Promise<void> {
  let guard = startBootstrapGuard(performance.now())
  while (!signal.aborted) {
    const [apiReady, ironicAnswers] = await Promise.all([isApiReady(`${localApi}/readyz`), doesIronicAnswer()])
    const next = looked(guard, { apiReady, ironicAnswers }, performance.now())
    guard = next.guard
    if (next.order !== undefined) {
      log('info', `bootstrap: ${next.order}`, { apiReady, ironicAnswers })
      if (say === undefined) agent.wants({ api: next.order === 'reload', ingress: next.order === 'reload' })
      else say(next.order)
    }
    await sleep(Math.max(0, guard.nextLookAt - performance.now()), undefined, { signal }).catch(() => {})
  }
}
