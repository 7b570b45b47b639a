/**
 * Loaded into a daemon under test (NODE_OPTIONS=--import=…). When the text of the file HEAP_LOOK changes, each thread
 * collects its garbage. It then appends a line of JSON with the memory still in use to HEAP_LOOK.answers. Decides the
 * figures; does not judge them.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { threadId } from 'node:worker_threads'

const EVERY = 1_000
const { HEAP_LOOK: file } = process.env

if (file !== undefined) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const wanted = () => {
    try {
      return readFileSync(file, 'utf8')
    } catch {
      return ''
    }
  }
  // A process that has just started does not answer the request to the process before it.
  let seen = wanted()
  setInterval(() => {
    const text = wanted()
    if (text === seen) return
    seen = text
    collect()
    const { external } = process.memoryUsage()
    const { used_heap_size: used } = getHeapStatistics()
    appendFileSync(`${file}.answers`, `${JSON.stringify({ look: text, pid: process.pid, threadId, used, external })}\n`)
  }, EVERY).unref()
}
