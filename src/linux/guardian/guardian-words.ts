/**
 * How the memory shared with the guardian is found (native/common/guardian-words.h). Decided here: that an engine without it
 * still runs, guarded against its death alone, and says so. Refused here: what the words mean for a router.
 */

import { closeSync } from 'node:fs'
import { messageOf } from '../../base/message-of.ts'
import type { GuardianWords, NativeAddon } from '../native.ts'
import type { GuardianFault } from './guardian-channel.ts'

/** Undefined, after a fault where there should be one: started without a guardian, or by one that is older. */
export function openGuardianWords(
  native: Pick<NativeAddon, 'GuardianWords'>,
  descriptor: string | undefined = process.env.HOLDFAST_GUARDIAN_WORDS,
  onFault: (fault: GuardianFault) => void = () => {},
): GuardianWords | undefined {
  if (descriptor === undefined || !/^\d+$/.test(descriptor)) return undefined
  const fd = Number(descriptor)
  try {
    const words = new native.GuardianWords(fd)
    // The mapping stays; a health check must not inherit the descriptor.
    closeSync(fd)
    return words
  } catch (error) {
    const why = messageOf(error)
    onFault({ message: `Cannot share memory with the guardian: ${why}; a frozen engine keeps its addresses` })
    return undefined
  }
}
