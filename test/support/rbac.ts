/** Decides about recorded requests as the RBAC authorizer of an API server does. */
import type { ClusterRole, PolicyRule, Role } from 'kubernetes-types/rbac/v1.js'
import { resourceAddress } from './kube-api/address.ts'
import type { LoggedRequest } from './kube-api/server.ts'

/** A rule, in one namespace or (`undefined`) everywhere. */
export type Grant = { readonly namespace: string | undefined; readonly rule: PolicyRule }

/** Returns the rules of roles. `namespace`: that of a Role which names none. */
export const grantsIn = (roles: readonly (ClusterRole | Role)[], namespace = ''): readonly Grant[] =>
  roles.flatMap(({ kind, metadata, rules = [] }) =>
    rules.map((rule) => ({ namespace: kind === 'Role' ? (metadata?.namespace ?? namespace) : undefined, rule })),
  )

/** Verbs of a request. An apply that has created its object (201) needed the right to create it, too. */
export const verbsOf = ({ status, verb }: LoggedRequest): readonly string[] =>
  verb === 'apply' ? (status === 201 ? ['patch', 'create'] : ['patch']) : [verb]

/** Tells whether a rule allows one verb of a request: a list or watch has the name of its field selector. */
export function isGranted({ namespace, rule }: Grant, { path, query }: LoggedRequest, verb: string): boolean {
  const where = resourceAddress(path)
  if (where === undefined) return false
  const group = where.apiVersion.includes('/') ? where.apiVersion.replace(/\/.*/, '') : ''
  const resource = where.subresource === undefined ? where.resource : `${where.resource}/${where.subresource}`
  const name = where.name ?? /^metadata\.name=([^,]+)$/.exec(query.fieldSelector ?? '')?.[1]
  return (
    rule.apiGroups?.includes(group) === true &&
    rule.resources?.includes(resource) === true &&
    rule.verbs.includes(verb) &&
    (namespace === undefined || namespace === where.namespace) &&
    (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name)))
  )
}

/** Returns the requests that no rule allows, as texts. */
export const refusedIn = (grants: readonly Grant[], requests: readonly LoggedRequest[]): readonly string[] =>
  requests.flatMap((request) =>
    verbsOf(request)
      .filter((verb) => !grants.some((grant) => isGranted(grant, request, verb)))
      .map((verb) => `${verb} ${request.path}`),
  )

/** Returns each verb of each resource that the rules allow, and that no request needed. */
export function unusedIn(grants: readonly Grant[], requests: readonly LoggedRequest[]): readonly string[] {
  const single = grants.flatMap(({ namespace, rule }) =>
    (rule.resources ?? []).flatMap((resource) =>
      rule.verbs.map((verb) => ({
        namespace,
        rule: { ...rule, resources: [resource], verbs: [verb] },
        verb,
        resource,
      })),
    ),
  )
  return single
    .filter(({ verb, ...grant }) =>
      requests.every((request) => !verbsOf(request).includes(verb) || !isGranted(grant, request, verb)),
    )
    .map(({ resource, verb }) => `${verb} ${resource}`)
}
