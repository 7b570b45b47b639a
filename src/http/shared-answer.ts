/**
 * Sends one query at a time, however many clients ask: all clients that ask in the meantime get the same answer. The
 * next query waits nine times as long as the last query took, so clients use at most a tenth of the time of the
 * answering thread. A client gets an answer that is at most as old as the query that was under way.
 */

/** Milliseconds between an answer and the next query to the same source. */
export type Pause = {
  readonly atLeast: number
  /**
   * Upper limit in milliseconds of the pause between two answers, so that a slow answer is not followed by a long
   * pause.
   */
  readonly atMost: number
}

/**
 * Pause for queries to the engine: a report of 255 routers takes it about 10 ms. The upper limit is below the timeout
 * of a liveness probe.
 */
export const ENGINE_PAUSE: Pause = { atLeast: 50, atMost: 500 }
/** Pause between queries for a text (page, metrics) that is made from an answer of the engine. */
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

/** Returns `ask` with the same pause, for queries that differ: each query gets its own answer, one after the other. */
export function takingTurns<Q, T>(ask: (question: Q) => Promise<T>, pause: Pause): (question: Q) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  const next = paced(ask, pause)
  return (question) => {
    const turn = last.then(() => next(question))
    last = turn.catch(() => {})
    return turn
  }
}

/**
 * Returns `ask` with a pause before each query, counted from the last answer. The caller ensures that only one query
 * runs at a time.
 */
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
