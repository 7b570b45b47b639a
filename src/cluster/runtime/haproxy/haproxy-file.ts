/**
 * Writes haproxy.cfg: renders the template, lets HAProxy check the result, and replaces the file. If anything fails, the
 * old file stays, and the reason is returned. The new file has the permissions of the template.
 */
import { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { messageOf } from '../../../base/message-of.ts'
import type { BalancerValues } from '../../decisions/haproxy/backends.ts'
import { textIn } from '../machine.ts'
import { ask } from '../program.ts'

const CHECK_TIMEOUT = 10_000
const PERMISSIONS = 0o7777

export type Written =
  | { readonly result: 'written' | 'same' }
  /** The file is written although HAProxy's program is not here to check it. */
  | { readonly result: 'unchecked'; readonly reason: string }
  | { readonly result: 'refused'; readonly reason: string }

export type HaproxyFileOptions = {
  readonly template: string
  readonly file: string
  /** HAProxy's program. */
  readonly haproxy: string
  readonly render: (template: string, values: BalancerValues) => string
}

/** Writes haproxy.cfg for these values. */
export async function writeHaproxyFile(options: HaproxyFileOptions, values: BalancerValues): Promise<Written> {
  const { template, file } = options
  const fresh = `${file}.new-${process.pid}`
  try {
    const text = options.render(readFileSync(template, 'utf8'), values)
    if (textIn(file) === text) return { result: 'same' }
    writeFileSync(fresh, text, { flush: true })
    chmodSync(fresh, statSync(template).mode & PERMISSIONS)
    const problem = await checked(options.haproxy, fresh)
    if (problem?.isMissing === false) return { result: 'refused', reason: problem.reason }
    renameSync(fresh, file)
    return problem === undefined ? { result: 'written' } : { result: 'unchecked', reason: problem.reason }
  } catch (error) {
    return { result: 'refused', reason: messageOf(error) }
  } finally {
    rmSync(fresh, { force: true })
  }
}

/** Returns why HAProxy refuses a configuration, or that its program is missing; `undefined` if it accepts the file. */
async function checked(haproxy: string, file: string): Promise<{ isMissing: boolean; reason: string } | undefined> {
  const answer = await ask([haproxy, '-c', '-f', file], CHECK_TIMEOUT)
  if (!('failed' in answer)) return undefined
  const alerts = answer.stderr.split('\n').filter((line) => line.startsWith('[ALERT]'))
  const reason = alerts.map((line) => line.replace(/^\[ALERT\]\s*(\(\d+\) : )?/, '')).join('; ')
  return { isMissing: / ENOENT$/.test(answer.failed), reason: reason || answer.failed }
}
