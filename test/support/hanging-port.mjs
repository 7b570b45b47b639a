/**
 * Makes the daemon's worker thread hang in an endless loop as soon as the file named in HANG exists. Node loads this
 * script before the product's own bundle (NODE_OPTIONS=--import=…). The thread removes the file first, so that the next
 * worker thread does not hang. This script does not know the product.
 */
import { existsSync, rmSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env.HANG

if (!isMainThread && file !== undefined) {
  setInterval(() => {
    if (!existsSync(file)) return
    rmSync(file)
    writeSync(2, '{"deed":"hang"}\n')
    for (;;);
  }, 50).unref()
}
