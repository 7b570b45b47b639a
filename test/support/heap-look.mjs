/**
 * Measures the memory of a daemon under test, which loads this script (NODE_OPTIONS=--import=…). When the text of the
 * file HEAP_LOOK changes, each thread collects its garbage. The thread then appends a JSON line with its used memory to
 * the file HEAP_LOOK.answers. This file decides which figures are written. This script does not judge the figures.
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
  // A process that has just started does not answer a request that was meant for the process before it.
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
