/**
 * Asks for OpenShift's Infrastructure now and then: whether this cluster's nodes hold its VIPs. Decided here: how often, and
 * that only an answer that can be read means something. A poll, as the right to watch it is not one of a kubelet.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Elsewhere, vipsElsewhere } from '../../decisions/engine/platform.ts'
import { ApiFailure } from './api-failure.ts'
import type { ClusterClient } from './cluster-client.ts'

const INFRASTRUCTURE = '/apis/config.openshift.io/v1/infrastructures/cluster'
/** Milliseconds. It changes when an administrator changes it; a cluster that is no OpenShift has none. */
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
