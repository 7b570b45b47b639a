/**
 * Entry file of the worker thread: connects worker/worker.ts with the kernel. This entry is a separate file, because
 * Node starts a thread from a file. This file decides nothing.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { loadNative } from '../linux/native.ts'
import { watchProcessEnd } from '../linux/process/process-end.ts'
import { openStream } from '../linux/sockets/stream.ts'
import { runWorker } from '../worker/worker.ts'

/** The addon is loaded once, because the search for it reads folders. */
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
