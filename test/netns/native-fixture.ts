/** Starts the native programs under test, and native-agent.mjs, which runs one scenario with the addon. */
import { join } from 'node:path'
import { Talker } from '../../src/lab/cable.ts'
import type { Said } from '../../src/lab/json-process.ts'

export const NATIVE = join(import.meta.dirname, '..', '..', 'native')
export const GUARDIAN = join(NATIVE, 'prebuilds', `linux-${process.arch}`, 'holdfast-guardian')
export const AGENT = join(import.meta.dirname, 'native-agent.mjs')

/** Starts a scenario of native-agent.mjs in the namespace `name`. */
export function agent(name: string, scenario: string, ...flags: readonly string[]): Talker {
  return new Talker(name, [process.execPath, ...flags, AGENT, scenario])
}

/** Runs a scenario to its successful end. Returns the first line of its output. */
export async function outcome(name: string, scenario: string, ...flags: readonly string[]): Promise<readonly Said[]> {
  const talker = agent(name, scenario, ...flags)
  const { code, signal } = await talker.ended
  if (code !== 0) throw new Error(`${scenario} ended with ${code ?? signal}: ${talker.stderr.slice(-5).join(' | ')}`)
  return talker.said
}
