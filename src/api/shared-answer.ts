/**
 * One question to the engine at a time, and not more often than it can bear, however many clients ask: whoever asks
 * meanwhile gets the same answer. Decided here: how old an answer may be, which is as old as the question that is on its
 * way. Refuses to know what is asked.
 */

/** Twenty snapshots a second; each stops the engine for as long as it takes. */
const SPACING = 50

export function sharedAnswer<T>(ask: () => Promise<T>, spacing = SPACING): () => Promise<T> {
  let awaited: Promise<T> | undefined
  let notBefore = 0
  return () => {
    awaited ??= pause(notBefore - performance.now())
      .then(ask)
      .finally(() => {
        awaited = undefined
        notBefore = performance.now() + spacing
      })
    return awaited
  }
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await new Promise<void>((resolve) => setTimeout(resolve, ms))
}
