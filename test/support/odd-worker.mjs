/**
 * A worker thread that speaks the engine's messages and does what its checks are called: `die` ends it, `hang` never
 * comes back, anything else is up. Each life says its number, counted by the engine's side.
 */
import { parentPort } from 'node:worker_threads'

let beat
const report = (check) => ({ check, verdict: 'up', standing: 'up', since: 0, last: undefined, weight: undefined })
const tell = (news) => parentPort.postMessage({ kind: 'check', news })

parentPort.on('message', ({ kind, order }) => {
  if (kind !== 'checkOrder') return
  if (order.kind === 'stopChecks') tell({ kind: 'checksStopped' })
  if (order.kind !== 'setChecks') return
  const names = order.checks.map(({ name }) => name)
  const reports = names.map((name) => ({ ...report(name), detail: order.formerly }))
  tell({ kind: 'checkBeat', reports })
  clearInterval(beat)
  beat = setInterval(() => tell({ kind: 'checkBeat', reports }), 50)
  // After its words have left.
  setTimeout(() => {
    if (names.includes('die')) process.exit(1)
    while (names.includes('hang'));
  }, 100)
})
