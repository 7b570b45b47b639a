/**
 * What the worker thread runs: the wiring of worker/worker.ts, a file of its own because a thread begins with a file.
 * Refuses to decide anything.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { loadNative } from '../linux/native.ts'
import { watchProcessEnd } from '../linux/process/process-end.ts'
import { openStream } from '../linux/sockets/stream.ts'
import { runWorker } from '../worker/worker.ts'

/** Finding it reads folders: once. */
let loaded: ReturnType<typeof loadNative> | undefined
const native = () => (loaded ??= loadNative())

if (parentPort !== null)
  runWorker({
    engine: parentPort,
    settings: workerData,
    dropPrivileges: () => native().dropPrivileges(),
    streamPair: () => native().streamPair(),
    openStream: (...order) => openStream(native(), ...order),
    watchEnd: (pid, onEnd) => watchProcessEnd(native(), pid, onEnd),
  })
