/**
 * Sends the agent's requests to the stand-in of the Kubernetes API, with the agent's own client, without credentials
 * and with short timeouts.
 */
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { type Send, sendBy } from '../../../src/cluster/runtime/status/status-api.ts'
import type { KubeApi } from './server.ts'

const WITHIN = 1_000

export const sendTo = (api: KubeApi): Send =>
  sendBy(new ClusterClient(async () => [{ server: `http://127.0.0.1:${api.port}`, options: {} }], { within: WITHIN }))
