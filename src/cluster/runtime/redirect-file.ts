/**
 * Writes the file for keepalived's check chk_ocp_lb and for the preset. The file exists while both rules send the
 * traffic of the first API address to the load balancer. If nft gives no usable output, the file stays as it is, and
 * one warning is logged.
 */
import { PRESET_FILES } from '../../config/schema/preset.ts'
import { familyOf } from '../../wire/address.ts'
import { REDIRECT_TABLE, type Redirect, redirectExists } from '../decisions/status/load-balancer-rule.ts'
import { putFact } from './fact-file.ts'
import { ask, nodeProgram, type ProgramResult } from './program.ts'

const TIMEOUT = 5000

export type RedirectFileOptions = {
  readonly redirect: Redirect
  readonly file?: string
  /** Command line with which nft is run; absent: the nft of this node. */
  readonly nft?: readonly string[]
  readonly tell: (message: string) => void
}

/** Returns a function that reads the rules, writes the file, and returns whether the rules exist. */
export function openRedirectFile({
  redirect,
  file = PRESET_FILES.iptables,
  nft = nodeProgram('nft'),
  tell,
}: RedirectFileOptions) {
  let silent = false
  const unknown = (reason: string): undefined => {
    if (!silent) tell(`Cannot read the rules of the load balancer: ${reason}; ${file} stays as it is`)
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
    const exists = redirectExists(
      said.flatMap((each) => ('stdout' in each ? [each.stdout] : [])),
      redirect,
    )
    if (exists === undefined) return unknown('the output of nft is not a list of rules')
    try {
      putFact(file, exists)
    } catch (error) {
      return unknown(String(error))
    }
    silent = false
    return exists
  }
}

/**
 * Tells whether nft failed because the table does not exist. After any other failure it is unknown whether the rules
 * exist.
 */
const isAbsent = (said: ProgramResult): boolean =>
  'failed' in said && /No such file or directory\s+list table/.test(said.stderr)
