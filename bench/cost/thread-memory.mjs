/**
 * Writes the heap size of each thread of the measured daemon, so that growing memory can be attributed to a thread. The
 * daemon loads this script through NODE_OPTIONS, only in benchmarks. This file decides which figures are written, one
 * JSON line for each thread and moment, to the file HF_THREAD_MEMORY. With HF_COLLECT set, garbage is collected before
 * each measurement, so that memory which still grows is a leak. This script does not judge the figures.
 */
import { appendFileSync } from 'node:fs'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { threadId } from 'node:worker_threads'

const EVERY = 10_000
const { HF_COLLECT: collects, HF_THREAD_MEMORY: file } = process.env
let collect = () => {}
if (collects !== undefined) {
  setFlagsFromString('--expose-gc')
  collect = runInNewContext('gc')
}

if (file !== undefined) {
  setInterval(() => {
    collect()
    const { external } = process.memoryUsage()
    const { used_heap_size: used, total_heap_size: total, malloced_memory: malloced } = getHeapStatistics()
    appendFileSync(file, `${JSON.stringify({ threadId, at: Date.now(), used, total, external, malloced })}\n`)
  }, EVERY).unref()
}
