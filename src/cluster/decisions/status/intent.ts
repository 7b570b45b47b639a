/**
 * The administrator's wishes (`HostedNetServices.spec`) that concern the engine. This file decides the meaning of a
 * spec, and which virtual routers are left out. An invalid spec changes nothing. holdfast replaces keepalived in every
 * case. Wishes about CoreDNS are fulfilled by `holdfast corednsmonitor`; its report says so.
 */
import * as z from 'zod'
import type { DnsReport } from '../dns/dns-report.ts'

export type Toggle = 'Enabled' | 'Disabled'

export type Intent = {
  readonly ingressHa: Toggle
  readonly nodesResolution: Toggle
  readonly appsResolution: Toggle
  /** Text of the spec, which balancer.ts checks. `undefined`: the API's own virtual address. */
  readonly apiintIpAddress: string | undefined
}

/** Meaning of an empty spec, and of a missing object. */
export const DEFAULT_INTENT: Intent = {
  ingressHa: 'Enabled',
  nodesResolution: 'Enabled',
  appsResolution: 'Enabled',
  apiintIpAddress: undefined,
}

const toggle = z.enum(['Enabled', 'Disabled']).default('Enabled')
const specSchema = z.object({
  ingressHa: toggle,
  dns: z
    .object({ nodesResolution: toggle, appsResolution: toggle, apiintIpAddress: z.string().optional() })
    .default({ nodesResolution: 'Enabled', appsResolution: 'Enabled' }),
})
const objectSchema = z.object({ spec: specSchema.optional() })

/** Problems of the object's spec: one text for each, with the path of the field. */
export type IntentProblems = { readonly problems: readonly string[] }

/**
 * Reads an object of the API. The object may contain invalid values, if the cluster's definition of the resource is
 * older or missing.
 */
export function readIntent(object: unknown): Intent | IntentProblems {
  const read = objectSchema.safeParse(object)
  if (!read.success) return { problems: read.error.issues.map(problemOf) }
  const { spec } = read.data
  if (spec === undefined) return DEFAULT_INTENT
  const { dns, ingressHa } = spec
  const { appsResolution, nodesResolution, apiintIpAddress } = dns
  return { ingressHa, nodesResolution, appsResolution, apiintIpAddress }
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  const where = path.map(String).join('.')
  return `${where === '' ? 'object' : where}: ${message}`
}

export type IntentState = {
  readonly intent: Intent
  /**
   * True if the API has answered about the HostedNetServices object, now or before. Until the API has answered,
   * `intent` is an assumption.
   */
  readonly isKnown: boolean
  /** Problems of the last object that the API returned; empty if that object is in force. */
  readonly problems: readonly string[]
  /** Reason why the API refuses to show the object; `undefined` if the API shows the object, or does not answer. */
  readonly unreadable: string | undefined
  readonly refused: number
}

/**
 * Returns the state at the start of the agent. `remembered`: the value of ingressHa that the API reported last;
 * `undefined` if the API never reported a value.
 */
export const firstIntent = (remembered: Toggle | undefined): IntentState => ({
  ...{ intent: { ...DEFAULT_INTENT, ingressHa: remembered ?? 'Enabled' }, isKnown: remembered !== undefined },
  ...{ problems: [], unreadable: undefined, refused: 0 },
})

export type IntentNews =
  /** The object. */
  | { readonly kind: 'object'; readonly value: unknown }
  /** The object does not exist (404): an administrator has deleted it, or never created it. */
  | { readonly kind: 'none' }
  /**
   * The API answered without the object. A 5xx status or a missing answer is not such an event. `isNoWish`: a status
   * such as 403 or 404; if nothing was known, the administrator has no wish.
   */
  | { readonly kind: 'failed'; readonly why: string; readonly isNoWish: boolean }
  /** The API shows the HostedNetServices object again, unchanged. */
  | { readonly kind: 'readable' }

/**
 * Returns the state of the administrator's wishes after news. An invalid object leaves the last good object in force.
 */
export function stepIntent(state: IntentState, news: IntentNews): IntentState {
  switch (news.kind) {
    case 'none':
      return { ...state, intent: DEFAULT_INTENT, isKnown: true, problems: [], unreadable: undefined }
    case 'failed': {
      const isKnown = state.isKnown || news.isNoWish
      return { ...state, isKnown, unreadable: news.why, refused: state.refused + 1 }
    }
    case 'readable':
      return { ...state, unreadable: undefined }
    case 'object': {
      const read = readIntent(news.value)
      if (!('problems' in read)) return { ...state, intent: read, isKnown: true, problems: [], unreadable: undefined }
      // An invalid spec that the watch repeats is counted once.
      const isRepeated = read.problems.join() === state.problems.join()
      const refused = state.refused + (isRepeated ? 0 : 1)
      return { ...state, problems: read.problems, unreadable: undefined, refused }
    }
  }
}

/**
 * Returns a text about the toggles of DNS that are not in force; `undefined` if there are none. `dns`: the report of
 * `holdfast corednsmonitor` on this node; `undefined` if that process does not run here.
 */
export function notManaged({ appsResolution, nodesResolution }: Intent, dns?: DnsReport): string | undefined {
  if (dns === undefined) {
    const asked = Object.entries({ nodesResolution, appsResolution }).filter(([, toggle]) => toggle === 'Disabled')
    const named = asked.map(([name]) => `dns.${name}=Disabled (CoreDNS)`)
    return named.length === 0 ? undefined : `no holdfast corednsmonitor of this node reports: ${named.join(', ')}`
  }
  const { apps = true, nodes = true } = dns.wishes ?? {}
  const missing = [
    ...(nodes === (nodesResolution === 'Enabled') ? [] : [`dns.nodesResolution=${nodesResolution}`]),
    ...(apps === (appsResolution === 'Enabled') ? [] : [`dns.appsResolution=${appsResolution}`]),
  ]
  return missing.length === 0 ? undefined : `not yet in the Corefile: ${missing.join(', ')}`
}
