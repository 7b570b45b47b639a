/**
 * A worker thread that speaks the engine's messages and does what its checks and notifications say: `die` ends it, `hang` never
 * comes back, anything else is up. Each life says its number, counted by the engine's side.
 */
import { parentPort } from 'node:worker_threads'

let beat
const report = (check) => ({ check, verdict: 'up', standing: 'up', since: 0, last: undefined, weight: undefined })
/**
 * A notification is done when its timeout is 1, starts and is never heard of again when it is 2, and ends the thread
 * when it is 3, after its first program.
 */
const notify = ({ id, runs, timeout }) => {
  const say = (news) => parentPort.postMessage({ kind: 'notify', news })
  const ran = (index) => say({ kind: 'ran', id, index, reason: 'ok', detail: 'ended with 0', latency: 1 })
  if (timeout === 1) {
    for (const { index } of runs) ran(index)
    say({ kind: 'done', id })
  }
  if (timeout === 3) {
    ran(runs[0].index)
    setTimeout(() => process.exit(1), 50)
  }
}
const tell = (news) => parentPort.postMessage({ kind: 'check', news })

parentPort.on('message', ({ kind, order }) => {
  if (kind === 'notifyOrder' && order.kind === 'notify') notify(order.notification)
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
