/**
 * `holdfast vrid NAME`: prints the VRIDs that an OpenShift cluster derives from its name, in the format of runtimecfg.
 * The command compares these VRIDs with those of other clusters on the same LAN. No other host is contacted.
 */

import { EXIT } from '../app/exit-code.ts'
import { refusedValue } from '../base/refused-value.ts'
import { type Collision, collisions, type Service, type Vrids, vridsOf } from '../cluster/decisions/engine/vrid.ts'
import type { CommandResult } from './command.ts'

export type VridOptions = {
  /** VRID for the API's VIP, in place of the VRID that the cluster's name gives; absent: the name decides. */
  readonly api?: string
  readonly ingress?: string
  /** Names of other clusters on the same LAN, whose VRIDs must differ. */
  readonly beside: readonly string[]
  readonly json?: boolean
}

const LINES: Readonly<Record<Service, string>> = { api: 'APIVirtualRouterID', ingress: 'IngressVirtualRouterID' }

/** Prints the VRIDs of a cluster. The exit status is 1 if one of the other clusters has the same VRID. */
export function vridCommand(name: string, options: VridOptions): CommandResult {
  const vrids = chosen(name, options)
  if (typeof vrids === 'string') return refuse(vrids)
  const others: { name: string; collisions: readonly Collision[] }[] = []
  for (const other of options.beside) {
    const theirs = vridsOf(other)
    if (theirs === undefined) return refuse(EMPTY)
    others.push({ name: other, collisions: collisions(vrids, theirs) })
  }
  const exitCode = others.some(({ collisions: found }) => found.length > 0) ? EXIT.failure : EXIT.ok
  if (options.json === true) {
    return { exitCode, stdout: `${JSON.stringify({ name, ...vrids, beside: others }, null, 2)}\n`, stderr: '' }
  }
  const lines = (['api', 'ingress'] as const).map((service) => `${LINES[service]}: ${vrids[service]}\n`)
  const said = others.map((other) =>
    other.collisions.length === 0
      ? `beside ${other.name}: no VRID in common\n`
      : other.collisions
          .map(({ vrid, ours, theirs }) => `beside ${other.name}: VRID ${vrid} is its ${theirs} and our ${ours}\n`)
          .join(''),
  )
  return { exitCode, stdout: [...lines, ...said].join(''), stderr: '' }
}

const EMPTY = 'name of a cluster: required, not empty'
const VRID = 'an integer from 1 to 255'

function chosen(name: string, options: VridOptions): Vrids | string {
  const byName = vridsOf(name)
  if (byName === undefined) return EMPTY
  const api = options.api === undefined ? byName.api : vridIn(options.api)
  const ingress = options.ingress === undefined ? byName.ingress : vridIn(options.ingress)
  if (api === undefined) return refusedValue('--api', options.api, VRID)
  if (ingress === undefined) return refusedValue('--ingress', options.ingress, VRID)
  return api === ingress ? `API and ingress cannot both have VRID ${api}` : { api, ingress }
}

function vridIn(word: string): number | undefined {
  const value = /^[0-9]{1,3}$/.test(word) ? Number(word) : 0
  return value >= 1 && value <= 255 ? value : undefined
}

const refuse = (text: string): CommandResult => ({ exitCode: EXIT.usage, stdout: '', stderr: `holdfast: ${text}\n` })
