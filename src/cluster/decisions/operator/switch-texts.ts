/** Texts of ClusterOperator about the load balancer in force, and about settings that differ from the defaults. Pure. */
import type { Balancer } from '../status/balancer.ts'
import type { Trouble } from '../status/finding.ts'
import type { Intent } from '../status/intent.ts'
import type { Migration } from './migration.ts'

/** Gives a load balancer in force that no longer answers another reason than an address that is refused. */
export const inForce = (trouble: Trouble, { kind }: Balancer, state: Migration | undefined): Trouble =>
  trouble.reason === 'LoadBalancerRefused' && kind !== 'refused' && state?.phase !== 'Checking'
    ? { ...trouble, reason: 'LoadBalancerNotAnswering' }
    : trouble

/** Returns a text about the settings that differ from those of an installation; `undefined` if none does. */
export function settingsText(
  { appsResolution, ingressHa, nodesResolution }: Intent,
  state: Migration | undefined,
): string | undefined {
  const texts = [
    ...(state?.phase === 'External' ? [`the load balancer of the API is at ${state.apiInt}`] : []),
    ...(ingressHa === 'Disabled' ? ['no node holds an ingress address (ingressHa)'] : []),
    ...(nodesResolution === 'Disabled' ? ['names of nodes are not answered (dns.nodesResolution)'] : []),
    ...(appsResolution === 'Disabled' ? ['names of applications are not answered (dns.appsResolution)'] : []),
  ]
  return texts.length === 0 ? undefined : texts.join('; ')
}
