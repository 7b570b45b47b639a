/**
 * What the administrator wishes (`HostedNetServices.spec`), as far as it concerns the engine. Decided here: what a spec
 * means, that a malformed one changes nothing, and which virtual routers are left out for it. keepalived's part, the
 * addresses, runs in every case; HAProxy and CoreDNS are read about and not managed.
 */
import * as z from 'zod'

export type Toggle = 'Enabled' | 'Disabled'

export type Intent = {
  readonly ingressHa: Toggle
  readonly nodesResolution: Toggle
  readonly appsResolution: Toggle
  /** As it is written; whether it is one, balancer.ts says. Undefined: the API's own virtual address. */
  readonly apiintIpAddress: string | undefined
}

/** What an empty spec means, and no object. */
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

/** One line for each thing that is wrong, with its path. */
export type IntentProblems = { readonly problems: readonly string[] }

/** Source: the API, where an older definition or none at all may have let anything in. */
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
  /** The API answered about it, now or before; until then `intent` is a guess. */
  readonly isKnown: boolean
  /** Of the last one that was read; empty: it is in force. */
  readonly problems: readonly string[]
  /** Why the API does not show the object; `undefined`: it does, or it does not answer. */
  readonly unreadable: string | undefined
  readonly refused: number
}

/** `remembered`: ingressHa as the API said it last; `undefined`: it was never heard. */
export const firstIntent = (remembered: Toggle | undefined): IntentState => ({
  ...{ intent: { ...DEFAULT_INTENT, ingressHa: remembered ?? 'Enabled' }, isKnown: remembered !== undefined },
  ...{ problems: [], unreadable: undefined, refused: 0 },
})

export type IntentNews =
  /** The object as it stands. */
  | { readonly kind: 'object'; readonly value: unknown }
  /** There is none (404): an administrator has taken it away, or never made it. */
  | { readonly kind: 'none' }
  /**
   * An answer without the object. A 5xx or silence is no news. `isNoWish`: such as 403 or 404; if nothing was known,
   * nothing is wished.
   */
  | { readonly kind: 'failed'; readonly why: string; readonly isNoWish: boolean }
  /** The API shows the object again, unchanged. */
  | { readonly kind: 'readable' }

/** The last good one stays in force. */
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
      // A spec that the watch repeats is refused once.
      const isRepeated = read.problems.join() === state.problems.join()
      const refused = state.refused + (isRepeated ? 0 : 1)
      return { ...state, problems: read.problems, unreadable: undefined, refused }
    }
  }
}

/** What is wished of others than the engine; undefined: nothing. */
export function notManaged(intent: Intent): string | undefined {
  const asked = [
    ...(intent.nodesResolution === 'Disabled' ? ['dns.nodesResolution=Disabled (CoreDNS)'] : []),
    ...(intent.appsResolution === 'Disabled' ? ['dns.appsResolution=Disabled (CoreDNS)'] : []),
  ]
  return asked.length === 0 ? undefined : `not managed by holdfast: ${asked.join(', ')}`
}
