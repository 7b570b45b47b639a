/**
 * A configuration that is handed over to an engine with --managed (docs/adr/0051), and the counts of hand-overs for
 * status and metrics. This file decides which names a client may give itself and its configuration, and how each
 * hand-over is counted. `live-configuration.ts` puts a configuration in force; files/managed-file.ts stores it.
 */

import { refusedValue } from '../../base/refused-value.ts'
import type { ManagedSnapshot } from '../../daemon/telemetry/snapshot.ts'
import type { ManagedFile } from '../../files/managed-file.ts'
import type { ReloadAnswer } from './reload-answer.ts'

/**
 * Limit in octets. 255 routers with all usual keys take a quarter of it. A text that exceeds the worker's memory would
 * end the worker.
 */
export const LARGEST_CONFIGURATION = 1 << 19
/** Name that problems show in place of a file name, for a configuration that was handed over. */
export const HANDED_OVER = 'handed over'

export type HandedOver = {
  readonly text: string
  /** Name that the client gives for itself; `null` if it gives none. */
  readonly by: string | null
  readonly revision: string | null
}

const NAME = /^[\x20-\x7e]{1,128}$/

/**
 * Returns the hand-over in a request, or an error text if the request is invalid. The request may come from any client
 * that can open the socket.
 */
export function handedOver(text: string, query: URLSearchParams): HandedOver | string {
  const by = query.get('by')
  const revision = query.get('revision')
  for (const [key, value] of [
    ['by', by],
    ['revision', revision],
  ] as const)
    if (value !== null && !NAME.test(value)) return refusedValue(key, value, '1 to 128 printable ASCII characters')
  if (text.trim() === '') return 'empty configuration; use "virtualRouters: []" for a configuration without routers'
  return { text, by, revision }
}

/** Returns the names of client and revision, for a log line about a hand-over. */
export const whoHandsOver = ({ by, revision }: HandedOver): string =>
  `${by ?? 'an unnamed client'}${revision === null ? '' : ` (revision ${revision})`}`

export class HandOverAccount {
  readonly #memory: Pick<ManagedFile, 'problem'>
  readonly #count = { ok: 0, unchanged: 0, invalid: 0, failed: 0 }
  #handedOver: ManagedSnapshot['handedOver'] = null
  #waits: string | null

  /** `waits` is the reason why no configuration is in force; `null` if a configuration is in force. */
  constructor(memory: Pick<ManagedFile, 'problem'>, waits: string | null) {
    this.#memory = memory
    this.#waits = waits
  }

  snapshot(): ManagedSnapshot {
    return {
      handedOver: this.#handedOver,
      handOvers: { ...this.#count },
      notKept: this.#memory.problem,
      waits: this.#waits,
    }
  }

  handed({ by, revision }: HandedOver, answer: ReloadAnswer): void {
    this.#count[answer.ok ? (isSame(answer) ? 'unchanged' : 'ok') : answer.fault]++
    if (!answer.ok) return
    this.#handedOver = { at: new Date().toISOString(), by, revision }
    this.#waits = null
  }

  /**
   * Reports that the engine has read its file again. After such a reading, the last hand-over is no longer the
   * configuration in force.
   */
  remembered(): void {
    this.#handedOver = null
    this.#waits = null
  }
}

function isSame({ changes, checksChanged, groupsChanged, restartOnly }: Extract<ReloadAnswer, { ok: true }>): boolean {
  return changes.length + checksChanged.length + restartOnly.length === 0 && !groupsChanged
}
