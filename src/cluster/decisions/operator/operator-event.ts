/** Makes Kubernetes Events about changes that the operator sees. This file decides their texts. Pure. */
import { defined } from '../../../base/defined.ts'
import type { Finding } from '../status/condition.ts'
import { eventName, type KubernetesEvent } from '../status/failover.ts'
import { GROUP, KIND, SINGLETON, VERSION } from '../status/published-status.ts'
import { OPERATOR_NAME } from './cluster-operator.ts'

/** Largest number of characters that the API accepts in a message. */
const LONGEST_MESSAGE = 1_024

export type OperatorEvent = {
  readonly about: 'ClusterOperator' | 'HostedNetServices'
  readonly uid?: string | undefined
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

/** Returns the Event for a condition with a new status. */
export function conditionEvent({ message, reason, status, type }: Finding): OperatorEvent {
  const isGood = (type === 'Degraded' ? 'False' : 'True') === status || type === 'Progressing' || type === 'Disabled'
  return {
    ...{ about: 'ClusterOperator', type: isGood ? 'Normal' : 'Warning', reason: 'OperatorStatusChanged' },
    message: `${type} changed to ${status} (${reason}): ${message}`,
  }
}

/** Returns an Event as an object of the API. Events about objects without a namespace are in `default`. */
export function kubernetesEvent(event: OperatorEvent, self: string, epochMs: number): KubernetesEvent {
  const at = new Date(epochMs).toISOString()
  const moment = at.replace(/\.\d+Z$/, 'Z')
  const { about, reason, type, uid } = event
  const message = event.message.slice(0, LONGEST_MESSAGE)
  const involvedObject =
    about === 'ClusterOperator'
      ? { apiVersion: 'config.openshift.io/v1', kind: about, name: OPERATOR_NAME }
      : { apiVersion: `${GROUP}/${VERSION}`, kind: KIND, name: SINGLETON }
  return {
    ...{ apiVersion: 'v1', kind: 'Event' },
    metadata: { name: eventName(`${self} ${at} ${reason} ${message}`), namespace: 'default' },
    involvedObject: { ...involvedObject, ...defined({ uid }) },
    ...{ type, reason, message, firstTimestamp: moment, lastTimestamp: moment, count: 1 },
    ...{ source: { component: 'holdfast-operator' }, reportingComponent: 'holdfast-operator', reportingInstance: self },
  }
}
