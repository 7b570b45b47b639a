/**
 * Runs a worker thread that asks its engine for a report and subscribes to the engine's events. The thread sends back
 * what it received, as the text of a problem: the kinds of messages, and the number of routers in each. The thread ends
 * itself at the first event.
 */
import { parentPort } from 'node:worker_threads'

const came = []
const say = (words) => parentPort.postMessage({ kind: 'failed', message: JSON.stringify(words) })

parentPort.on('message', (message) => {
  if (message.kind === 'reported') came.push(message.part.routers.length)
  if (message.kind === 'answered' && message.answer.about === 'report') say(came)
  if (message.kind === 'answered' && message.answer.about === 'beat') say('beat')
  if (message.kind !== 'happened') return
  say(message.event.kind)
  setTimeout(() => process.exit(1), 20)
})
parentPort.postMessage({ kind: 'eventsFollowed', followed: true })
parentPort.postMessage({ kind: 'asked', id: 1, question: { about: 'report' } })
parentPort.postMessage({ kind: 'asked', id: 2, question: { about: 'beat' } })
