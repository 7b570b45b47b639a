/**
 * Reads recorded cases of baremetal-runtimecfg's behaviour, by function. test/samples/cluster/README.md describes their
 * origin. This file does not decide which cases holdfast has to follow: each test does.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A network interface of a test case, with its addresses. */
export type CaseLink = {
  readonly name: string
  readonly index: number
  readonly addrs: readonly { readonly cidr: string; readonly deprecated: boolean; readonly label: string }[]
}
/** A route of a test case. A `dst` of null means the default route. */
export type CaseRoute = {
  readonly link: string
  readonly dst: string | null
  readonly proto: string
  readonly priority: number
  readonly gw: string | null
}

export type ClusterCase<Input, Expected> = {
  readonly id: string
  readonly fn: string
  readonly input: Input
  readonly expect?: Expected
  readonly expectAnyOf?: readonly Expected[]
  readonly expectError?: boolean
}

const FILE = join(import.meta.dirname, '..', 'samples', 'cluster', 'nodeip-cases.json')

/** Returns the cases of the function `fn`. Throws if there are none, because a test without a case would pass. */
export function clusterCases<Input, Expected>(fn: string): ClusterCase<Input, Expected>[] {
  const { cases } = JSON.parse(readFileSync(FILE, 'utf8')) as { cases: ClusterCase<Input, Expected>[] }
  const found = cases.filter((one) => one.fn === fn)
  if (found.length === 0) throw new Error(`Cannot find cases of ${fn}: ${FILE} has none`)
  return found
}
