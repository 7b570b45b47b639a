/**
 * Implements server-side apply of the Kubernetes API as far as a status needs it. Every field manager owns the fields
 * that it sent last. A field that its manager no longer sends is removed, unless another manager owns the field too. If
 * a manager sends another value for a field of another manager, that is a conflict. Lists in `LIST_MAPS` are merged by
 * their keys; all other lists are replaced as a whole. This file does not know HTTP and schemas.
 */

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
type Record_ = { readonly [key: string]: Json }
/** Name of a field, or of a list item, such as `[type=Ready]`. */
type Step = string
type Leaf = { readonly steps: readonly Step[]; readonly value: Json }

/** Keys of the lists of type "map" (x-kubernetes-list-map-keys), by the field name of the list. */
export const LIST_MAPS: Readonly<Record<string, readonly string[]>> = { conditions: ['type'], holders: ['address'] }

/** Names of the fields that each manager owns, by manager. */
export type Owners = ReadonlyMap<string, ReadonlySet<string>>
export type Applied =
  | { readonly value: Record_; readonly owners: Owners }
  | { readonly conflicts: readonly { readonly manager: string; readonly field: string }[] }

const isRecord = (value: Json | undefined): value is Record_ =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isItem = (step: Step): boolean => step.startsWith('[')
const itemStep = (item: Json, keys: readonly string[]): Step =>
  `[${keys.map((key) => `${key}=${isRecord(item) ? String(item[key]) : ''}`).join(',')}]`
const nameOf = (steps: readonly Step[]): string => steps.map((step) => (isItem(step) ? step : `.${step}`)).join('')

function leaves(value: Json, steps: readonly Step[] = []): Leaf[] {
  // An empty map has no owner. An empty map is removed as soon as it has other fields.
  if (isRecord(value)) return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...steps, key]))
  const keys = LIST_MAPS[steps.at(-1) ?? '']
  if (Array.isArray(value) && keys !== undefined)
    return value.flatMap((item: Json) => leaves(item, [...steps, itemStep(item, keys)]))
  return [{ steps, value }]
}

/** Returns the document that consists of these fields. Items of list maps stand in the order of their arrival. */
function grown(all: readonly Leaf[]): Json {
  const [first] = all
  if (first !== undefined && first.steps.length === 0) return first.value
  const groups = new Map<Step, Leaf[]>()
  for (const { steps, value } of all) {
    const [head = '', ...rest] = steps
    groups.set(head, [...(groups.get(head) ?? []), { steps: rest, value }])
  }
  if (groups.size > 0 && [...groups.keys()].every(isItem)) return [...groups.values()].map(grown)
  return Object.fromEntries([...groups].map(([step, inner]) => [step, grown(inner)]))
}

export function applied(
  before: Record_,
  owners: Owners,
  { manager, config, force }: { manager: string; config: Record_; force: boolean },
): Applied {
  const had = new Map(leaves(before).map((leaf) => [nameOf(leaf.steps), leaf]))
  const wanted = new Map(leaves(config).map((leaf) => [nameOf(leaf.steps), leaf]))
  const others = [...owners].filter(([name]) => name !== manager)
  const conflicts = others.flatMap(([other, fields]) =>
    [...wanted]
      .filter(
        ([field, { value }]) => fields.has(field) && JSON.stringify(had.get(field)?.value) !== JSON.stringify(value),
      )
      .map(([field]) => ({ manager: other, field })),
  )
  if (conflicts.length > 0 && !force) return { conflicts }
  const mine = owners.get(manager) ?? new Set<string>()
  for (const field of mine) if (!wanted.has(field) && !others.some(([, fields]) => fields.has(field))) had.delete(field)
  for (const [field, leaf] of wanted) had.set(field, leaf)
  const taken = new Set(conflicts.map(({ manager: from, field }) => `${from} ${field}`))
  const left = others.map(
    ([other, fields]) => [other, new Set([...fields].filter((field) => !taken.has(`${other} ${field}`)))] as const,
  )
  const value = grown([...had.values()].filter(({ steps }) => steps.length > 0))
  return {
    value: isRecord(value) ? value : {},
    owners: new Map([...left, [manager, new Set(wanted.keys())] as const].filter(([, fields]) => fields.size > 0)),
  }
}
