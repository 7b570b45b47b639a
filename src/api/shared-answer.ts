/**
 * One question at a time, however many clients ask: whoever asks meanwhile gets the same answer, and the next question
 * waits nine times as long as this one took, so that clients cost at most a tenth of what answers them. Decided here: how
 * old an answer may be, which is as old as the question that is on its way. Refuses to know what is asked.
 */

/** Milliseconds between an answer and the next question. */
export type Pause = {
  readonly atLeast: number
  /** A stall must not be followed by one of our own. */
  readonly atMost: number
}

const SHARE = 9

export function sharedAnswer<T>(ask: () => Promise<T>, { atLeast, atMost }: Pause): () => Promise<T> {
  let awaited: Promise<T> | undefined
  let notBefore = 0
  async function next(): Promise<T> {
    const wait = notBefore - performance.now()
    if (wait > 0) await new Promise<void>((resolve) => setTimeout(resolve, wait))
    const askedAt = performance.now()
    try {
      return await ask()
    } finally {
      const answeredAt = performance.now()
      notBefore = answeredAt + Math.min(atMost, Math.max(atLeast, SHARE * (answeredAt - askedAt)))
      awaited = undefined
    }
  }
  return () => {
    awaited ??= next()
    return awaited
  }
}
