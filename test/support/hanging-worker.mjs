/**
 * A worker thread without services; the version in its settings decides what it does. `hang` never returns, `toil`
 * keeps its event loop turning without a pause, `wait` does nothing. It answers when it can.
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
