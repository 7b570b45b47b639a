/**
 * Opens the memory that the engine shares with the guardian (native/common/guardian-words.h). This file decides that
 * without this memory the engine still runs. The guardian then notices only the engine's death, not a stall, and the
 * engine reports that. Other files decide what the shared words mean for a router.
 */

import { closeSync } from 'node:fs'
import { messageOf } from '../../base/message-of.ts'
import type { GuardianWords, NativeAddon } from '../native.ts'
import type { GuardianFault } from './guardian-channel.ts'

/**
 * Opens the shared memory. Returns `undefined` without a guardian, or with an older guardian. Reports a fault if the
 * memory should exist and does not.
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
    // The shared memory stays mapped after its descriptor is closed. A health check must not inherit the descriptor.
    closeSync(fd)
    return words
  } catch (error) {
    const why = messageOf(error)
    onFault({
      event: 'guardianMemoryNotShared',
      message: `Cannot share memory with the guardian: ${why}; a frozen engine keeps its addresses`,
    })
    return undefined
  }
}
