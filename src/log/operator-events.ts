/**
 * Lists the log events of `holdfast operator`. The events of the operator are part of the agent's table
 * (agent-events.ts). Pure.
 */
import { logEvents } from './log-event.ts'

export const OPERATOR_EVENTS = logEvents<string>()({
  operatorConditionChanged: {
    level: 'info',
    fields: ['type', 'status', 'reason'],
    means: 'A condition of ClusterOperator cluster-hosted-net-services changed its status',
    act: 'if Degraded is True or Available is False, see docs/operator.md',
  },
  operatorCreated: {
    level: 'info',
    fields: ['object'],
    means: 'The operator created an object that the cluster did not have',
  },
  operatorLeads: { level: 'info', fields: ['lease'], means: 'This operator holds the Lease, and works' },
  operatorLeadLost: {
    level: 'warn',
    fields: ['lease'],
    means: 'This operator could not renew the Lease in time, and stops its work until it holds the Lease again',
    act: 'check the API of the cluster',
  },
  operatorNotWritten: {
    level: 'warn',
    fields: ['object', 'result'],
    means: 'The API refused or failed a write of the operator, which is repeated',
    act: 'see the message; `403` means that a right of deploy/operator is missing',
  },
  operatorPhase: {
    level: 'info',
    fields: ['phase'],
    means: 'The switch of the load balancer of the API entered another phase',
    act: 'see docs/operator.md, if the phase waits for nodes',
  },
  operatorStarted: {
    level: 'info',
    fields: ['namespace', 'version'],
    means: 'The operator begins, and asks for the Lease',
  },
  operatorStopping: { level: 'info', fields: [], means: 'A signal ends the operator; VIPs are not affected' },
  operatorWaits: {
    level: 'info',
    fields: ['holder'],
    means: 'Another operator holds the Lease; this operator waits',
  },
  operatorWatchFailed: {
    level: 'warn',
    fields: ['path', 'kind'],
    means: 'Objects of the API that the operator needs cannot be read; the operator keeps what it knows and asks again',
    act: 'see the message; `forbidden` means that a right of deploy/operator is missing',
  },
})
