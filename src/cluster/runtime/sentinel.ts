/**
 * The file that keepalived's check chk_ocp_lb and our preset ask for: there while both rules lead the first VIP of the API to
 * the load balancer. What nft cannot say leaves the file as it was; told once until it can.
 */
import { PRESET_FILES } from '../../config/schema/preset.ts'
import { familyOf } from '../../wire/address.ts'
import { REDIRECT_TABLE, type Redirect, redirectStands } from '../decisions/status/load-balancer-rule.ts'
import { putFact } from './fact-file.ts'
import { ask, nodeProgram, type Said } from './program.ts'

const TIMEOUT = 5000

export type SentinelOptions = {
  readonly redirect: Redirect
  readonly file?: string
  /** How nft is called. */
  readonly nft?: readonly string[]
  readonly tell: (message: string) => void
}

/** A look at the rules; what it answers is what it found. */
export function openSentinel({
  redirect,
  file = PRESET_FILES.iptables,
  nft = nodeProgram('nft'),
  tell,
}: SentinelOptions) {
  let silent = false
  const unknown = (reason: string): undefined => {
    if (!silent) tell(`Cannot look for the rules of the load balancer: ${reason}; ${file} stays as it is`)
    silent = true
    return undefined
  }
  return async (): Promise<boolean | undefined> => {
    const families = [familyOf(redirect.vip) === 'ipv4' ? 'ip' : 'ip6', 'inet']
    const said = await Promise.all(
      families.map((family) => ask([...nft, '-j', 'list', 'table', family, REDIRECT_TABLE], TIMEOUT)),
    )
    const failed = said.find((each) => 'failed' in each && !isAbsent(each))
    if (failed !== undefined && 'failed' in failed) return unknown(failed.failed)
    const stands = redirectStands(
      said.flatMap((each) => ('stdout' in each ? [each.stdout] : [])),
      redirect,
    )
    if (stands === undefined) return unknown('nft answered with something else than a listing')
    try {
      putFact(file, stands)
    } catch (error) {
      return unknown(String(error))
    }
    silent = false
    return stands
  }
}

/** No table is an answer; anything else is none. */
const isAbsent = (said: Said): boolean => 'failed' in said && /No such file or directory\s+list table/.test(said.stderr)
