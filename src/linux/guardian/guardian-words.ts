/**
 * Opens the memory that the engine shares with the guardian (native/common/guardian-words.h). Decided here: an engine
 * without this memory runs, is guarded against its death alone, and reports that. Not decided here: what the words mean
 * for a router.
 */

import { closeSync } from 'node:fs'
import { messageOf } from '../../base/message-of.ts'
import type { GuardianWords, NativeAddon } from '../native.ts'
import type { GuardianFault } from './guardian-channel.ts'

/**
 * Returns `undefined` without a guardian, or with an older one. Reports a fault if the memory should be there and is
 * not.
 */
export function openGuardianWords(
  native: Pick<NativeAddon, 'GuardianWords'>,
  descriptor: string | undefined = process.env.HOLDFAST_GUARDIAN_WORDS,
  onFault: (fault: GuardianFault) => void = () => {},
): GuardianWords | undefined {
  if (descriptor === undefined || !/^\d+$/.test(descriptor)) return undefined
  const fd = Number(descriptor)
  try {
    const words = new native.GuardianWords(fd)
    // The mapping stays. A health check must not inherit the descriptor.
    closeSync(fd)
    return words
  } catch (error) {
    const why = messageOf(error)
    onFault({ message: `Cannot share memory with the guardian: ${why}; a frozen engine keeps its addresses` })
    return undefined
  }
}
