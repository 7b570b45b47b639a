/**
 * Runs a worker thread without services. The version in its settings decides what the thread does: `hang` never
 * returns, `toil` keeps the event loop turning without a pause, `wait` does nothing. The thread answers its engine if
 * its event loop runs.
 */
import { parentPort, workerData } from 'node:worker_threads'

function toil() {
  for (const end = performance.now() + 5; performance.now() < end; );
  setImmediate(toil)
}

parentPort.on('message', ({ kind }) => {
  if (kind === 'beatWanted') parentPort.postMessage({ kind: 'beat' })
  if (kind !== 'serve') return
  parentPort.postMessage({ kind: 'listening' })
  if (workerData.version === 'toil') toil()
  while (workerData.version === 'hang');
})
