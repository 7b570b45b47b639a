/**
 * A configuration that is handed to an engine which was started with --managed (docs/adr/0051), and the account of
 * hand-overs for status and metrics. Decided here: which names a client may give itself and its configuration, and how each
 * hand-over is counted. live-configuration.ts puts a configuration in force, files/managed-file.ts keeps it.
 */

import type { ManagedSnapshot } from '../../daemon/telemetry/snapshot.ts'
import type { ManagedFile } from '../../files/managed-file.ts'
import type { ReloadAnswer } from './reload-answer.ts'

/** Octets. 255 routers with all usual keys take a quarter of it. A text beyond the worker's memory would end the worker. */
export const LARGEST_CONFIGURATION = 1 << 19
/** Stands for the file in the problems of a configuration that was handed over. */
export const HANDED_OVER = 'handed over'

export type HandedOver = {
  readonly text: string
  /** Name that the client gives itself. */
  readonly by: string | null
  readonly revision: string | null
}

const NAME = /^[\x20-\x7e]{1,128}$/

/** Returns a string if the request is wrong. Any client that may open the socket sends it. */
export function handedOver(text: string, query: URLSearchParams): HandedOver | string {
  const by = query.get('by')
  const revision = query.get('revision')
  for (const [key, value] of [
    ['by', by],
    ['revision', revision],
  ] as const)
    if (value !== null && !NAME.test(value)) return `Cannot take "${key}": 1 to 128 printable ASCII characters wanted`
  if (text.trim() === '') return 'Cannot take an empty text: "virtualRouters: []" is a configuration with nothing to do'
  return { text, by, revision }
}

/** Returns the client and the revision, for a line of the log. */
export const whoHandsOver = ({ by, revision }: HandedOver): string =>
  `${by ?? 'somebody'}${revision === null ? '' : ` (revision ${revision})`}`

export class HandOverAccount {
  readonly #memory: Pick<ManagedFile, 'problem'>
  readonly #count = { ok: 0, unchanged: 0, invalid: 0, failed: 0 }
  #handedOver: ManagedSnapshot['handedOver'] = null
  #waits: string | null

  /** `waits`: reason why nothing is in force; `null` if something is. */
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

  /** The engine has read its file again: the configuration in force is no longer the one handed over last. */
  remembered(): void {
    this.#handedOver = null
    this.#waits = null
  }
}

function isSame({ changes, checksChanged, groupsChanged, restartOnly }: Extract<ReloadAnswer, { ok: true }>): boolean {
  return changes.length + checksChanged.length + restartOnly.length === 0 && !groupsChanged
}
