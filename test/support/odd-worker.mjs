/**
 * Runs a worker thread that reads the engine's messages and behaves as the names of its checks and the timeouts of its
 * notifications request. A check `die` ends the thread, `hang` never returns, and any other check is up. Each start of
 * the thread reports its number, which the engine's side counts.
 */
import { parentPort } from 'node:worker_threads'

let beat
const report = (check) => ({ check, result: 'up', countsAs: 'up', since: 0, last: undefined, weight: undefined })
/**
 * Handles a notification by its timeout. 1: reports its end. 2: reports its start and never its end. 3: ends the thread
 * after the first program of the notification.
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
  // The thread ends after its messages have been sent.
  setTimeout(() => {
    if (names.includes('die')) process.exit(1)
    while (names.includes('hang'));
  }, 100)
})
