/**
 * Asks regularly for OpenShift's Infrastructure, which tells whether the nodes hold the VIPs. This file decides how
 * often, and that an unreadable answer is ignored. The object is requested repeatedly, because a kubelet may not watch
 * it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Elsewhere, vipsElsewhere } from '../../decisions/engine/platform.ts'
import { ApiFailure } from './api-failure.ts'
import type { ClusterClient } from './cluster-client.ts'

const INFRASTRUCTURE = '/apis/config.openshift.io/v1/infrastructures/cluster'
/**
 * Milliseconds between two requests for the Infrastructure object. Only an administrator changes the object; a cluster
 * that is not OpenShift does not have it.
 */
const AGAIN = 300_000
const AGAIN_AFTER_FAILURE = 60_000

export async function watchInfrastructure(
  client: Pick<ClusterClient, 'ask'>,
  onAnswer: (elsewhere: Elsewhere | undefined) => void,
  signal: AbortSignal,
  { again = AGAIN, afterFailure = AGAIN_AFTER_FAILURE } = {},
): Promise<void> {
  while (!signal.aborted) {
    let wait = again
    try {
      const answer = vipsElsewhere(await client.ask({ path: INFRASTRUCTURE }, signal))
      if (answer !== undefined) onAnswer(answer.elsewhere)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof ApiFailure)) throw error
      if (error.status !== 404) wait = afterFailure
    }
    await sleep(wait, undefined, { signal }).catch(() => {})
  }
}
