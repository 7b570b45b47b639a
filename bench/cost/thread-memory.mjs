/**
 * Loaded into the measured daemon (NODE_OPTIONS, bench only): each of its threads writes what its heap holds, so that
 * what grows has a name. Decides the figures; refuses to judge them. HF_THREAD_MEMORY is the file, one JSON line a
 * thread and look; HF_HEAP_SNAPSHOTS a folder, for a snapshot of every thread each HF_HEAP_SNAPSHOT_MINUTES.
 */
import { appendFileSync } from 'node:fs'
import { getHeapStatistics, setFlagsFromString, writeHeapSnapshot } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { threadId } from 'node:worker_threads'

const EVERY = 10_000
const { HF_THREAD_MEMORY: file, HF_HEAP_SNAPSHOTS: folder, HF_HEAP_SNAPSHOT_MINUTES: minutes = '5' } = process.env
let collect = () => {}
if (process.env.HF_COLLECT !== undefined) {
  setFlagsFromString('--expose-gc')
  collect = runInNewContext('gc')
}

if (file !== undefined) {
  setInterval(() => {
    collect()
    const { external, arrayBuffers } = process.memoryUsage()
    const { used_heap_size: used, total_heap_size: total, malloced_memory: malloced } = getHeapStatistics()
    const { peak_malloced_memory: peak, number_of_detached_contexts: detached } = getHeapStatistics()
    const line = { threadId, at: Date.now(), used, total, external, arrayBuffers, malloced, peak, detached }
    appendFileSync(file, `${JSON.stringify(line)}\n`)
  }, EVERY).unref()
}

if (folder !== undefined) {
  setInterval(() => writeHeapSnapshot(`${folder}/${threadId}-${Date.now()}.heapsnapshot`), Number(minutes) * 60_000).unref()
}
