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

/** For questions to the engine: a report of 255 routers takes it some 10 ms. The most is less than the patience of a liveness probe. */
export const ENGINE_PAUSE: Pause = { atLeast: 50, atMost: 500 }
/** For what is made of an answer. */
export const TEXT_PAUSE: Pause = { atLeast: 0, atMost: 2_000 }

const SHARE = 9

export function sharedAnswer<T>(ask: () => Promise<T>, pause: Pause): () => Promise<T> {
  let awaited: Promise<T> | undefined
  const next = paced(ask, pause)
  return () => {
    awaited ??= next().finally(() => {
      awaited = undefined
    })
    return awaited
  }
}

/** The same for questions that differ: each has its own answer, when its turn has come. */
export function takingTurns<Q, T>(ask: (question: Q) => Promise<T>, pause: Pause): (question: Q) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  const next = paced(ask, pause)
  return (question) => {
    const turn = last.then(() => next(question))
    last = turn.catch(() => {})
    return turn
  }
}

/** One at a time is the caller's business. */
function paced<Q extends readonly unknown[], T>(ask: (...question: Q) => Promise<T>, { atLeast, atMost }: Pause) {
  let notBefore = 0
  return async (...question: Q): Promise<T> => {
    const wait = notBefore - performance.now()
    if (wait > 0) await new Promise<void>((resolve) => setTimeout(resolve, wait))
    const askedAt = performance.now()
    try {
      return await ask(...question)
    } finally {
      const answeredAt = performance.now()
      notBefore = answeredAt + Math.min(atMost, Math.max(atLeast, SHARE * (answeredAt - askedAt)))
    }
  }
}
