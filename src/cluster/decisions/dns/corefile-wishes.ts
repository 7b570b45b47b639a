/**
 * Applies the administrator's wishes (`HostedNetServices.spec.dns`) to a rendered Corefile. The cluster's template has
 * fixed addresses and no switch, so blocks `template` are removed or get another answer. A block is recognized by the
 * names that it matches. Without wishes the text stays as it is, to the last byte. Pure.
 */
import { type Address, familyOf } from '../../../wire/address.ts'
import { addressInAnswer, matcher, wordsAfter } from './corefile-check.ts'
import { corefileTree, type Directive } from './corefile-tree.ts'

export type DnsWishes = {
  /** False if names below `apps` are not answered by the nodes. */
  readonly apps: boolean
  /** False if the names of the nodes are not answered. */
  readonly nodes: boolean
  /** Address of `api-int` in place of the VIP; `undefined`: the VIP. */
  readonly apiInt: Address | undefined
}

export const DEFAULT_WISHES: DnsWishes = { apps: true, nodes: true, apiInt: undefined }

/** Returns the Corefile with the wishes, or the reason why a wish cannot be applied. `domain`: NAME.DOMAIN of the cluster. */
export function withWishes(text: string, wishes: DnsWishes, domain: string): string | { readonly problem: string } {
  if (wishes.apps && wishes.apiInt === undefined) return text
  const templates = templatesIn(text)
  if ('problem' in templates) return templates
  const lines = text.split('\n')
  if (!wishes.apps) {
    const apps = templates.filter((each) => doesMatch(each, appName(domain)) && !doesMatch(each, apiIntName(domain)))
    for (const { first, last } of apps) clear(lines, first, last)
  }
  if (wishes.apiInt !== undefined) {
    const own = templates.filter((each) => doesMatch(each, apiIntName(domain)))
    if (own.length === 0) return { problem: `no block "template" of the Corefile matches api-int.${domain}` }
    for (const each of own) redirect(lines, each, wishes.apiInt)
  }
  return lines.filter((line) => line !== CLEARED).join('\n')
}

/** Returns the addresses that a Corefile answers for `api-int`. */
export function apiIntAnswers(text: string, domain: string): readonly Address[] {
  const templates = templatesIn(text)
  if ('problem' in templates) return []
  return templates
    .filter((each) => doesMatch(each, apiIntName(domain)))
    .flatMap((each) => wordsAfter(each, 'answer').flatMap((answer) => addressInAnswer(answer) ?? []))
}

const appName = (domain: string): string => `console.apps.${domain}.`
const apiIntName = (domain: string): string => `api-int.${domain}.`

function templatesIn(text: string): readonly Directive[] | { readonly problem: string } {
  const blocks = corefileTree(text)
  if ('problem' in blocks) return blocks
  return blocks.flatMap(({ block }) => block).filter(({ name }) => name === 'template')
}

function doesMatch(template: Directive, name: string): boolean {
  return wordsAfter(template, 'match').some((pattern) => matcher(pattern)?.test(name) === true)
}

/** Mark of a removed line. No line of a Corefile contains this character. */
const CLEARED = '\0'

const clear = (lines: string[], first: number, last: number): void => {
  lines.fill(CLEARED, first - 1, last)
}

/**
 * Gives a block the answer with another address. The block of the other family answers without an address: a client
 * that asks for both families must no longer reach the VIP.
 */
function redirect(lines: string[], { block, first, words }: Directive, place: Address): void {
  const [, type = ''] = words
  for (const answer of block.filter(({ name }) => name === 'answer')) clear(lines, answer.first, answer.last)
  if (type !== (familyOf(place) === 'ipv4' ? 'A' : 'AAAA')) return
  // The new line is a part of the line that opens the block, so all other lines keep their numbers.
  lines[first - 1] = `${lines[first - 1] ?? ''}\n        answer "{{ .Name }} 60 in {{ .Type }} ${place}"`
}
