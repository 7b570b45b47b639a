/**
 * Loaded into the measured daemon (NODE_OPTIONS, bench only): each thread writes the size of its heap, so that growth
 * has a name. This file decides the figures. This file does not judge them. HF_THREAD_MEMORY is the file, with one JSON
 * line for each thread and look. With HF_COLLECT garbage is collected first, and what remains is a leak.
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
