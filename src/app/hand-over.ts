/**
 * A configuration that is handed to an engine which was started with --managed (docs/adr/0052), and the account of it for
 * status and metrics. Decided here: how somebody may call himself, and what the end of a hand-over counts as. Refuses to
 * know how it is put in force (live-configuration.ts) and where it is kept (files/managed-file.ts).
 */

import type { ManagedSnapshot } from '../daemon/telemetry/snapshot.ts'
import type { ManagedFile } from '../files/managed-file.ts'
import type { ReloadAnswer } from './live-configuration.ts'

/** 255 routers with all that is usual take a quarter of it. What needs more memory than the worker has costs the worker. */
export const LARGEST_CONFIGURATION = 1 << 19
/** What problems are labelled with in the place of a file. */
export const HANDED_OVER = 'handed over'

export type HandedOver = {
  readonly text: string
  /** As they call themselves. */
  readonly by: string | null
  readonly revision: string | null
}

/** `kept`: it is in the file, so that the next life begins with it. */
export type HandOverAnswer = ReloadAnswer & { readonly kept: boolean; readonly notKept?: string }

const NAME = /^[\x20-\x7e]{1,128}$/

/** Or what is wrong with it, in words. Source: whoever may open the socket. */
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

export const whoHandsOver = ({ by, revision }: HandedOver): string =>
  `${by ?? 'somebody'}${revision === null ? '' : ` (revision ${revision})`}`

export class HandOverAccount {
  readonly #memory: ManagedFile
  readonly #count = { ok: 0, unchanged: 0, invalid: 0, failed: 0 }
  #handedOver: ManagedSnapshot['handedOver'] = null
  #waits: string | null

  /** `waits`: why nothing is in force. */
  constructor(memory: ManagedFile, waits: string | null) {
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

  /** Its file was read again. */
  remembered(): void {
    this.#handedOver = null
    this.#waits = null
  }
}

function isSame({ changes, checksChanged, groupsChanged, restartOnly }: Extract<ReloadAnswer, { ok: true }>): boolean {
  return changes.length + checksChanged.length + restartOnly.length === 0 && !groupsChanged
}
