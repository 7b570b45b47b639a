/**
 * Loaded into the measured daemon (NODE_OPTIONS, bench only): each of its threads writes what its heap holds, so that
 * what grows has a name. Decides the figures; refuses to judge them. HF_THREAD_MEMORY is the file, one JSON line a
 * thread and look; with HF_COLLECT what nobody holds any more is collected first, and what is left is a leak.
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
