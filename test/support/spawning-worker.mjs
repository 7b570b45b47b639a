/**
 * Runs a thread that drops its privileges through the addon. The script reports which privileges the thread, its child
 * process and its main thread still have. As the main file, the script starts itself as the worker. With
 * `keep-new-privs` the thread drops nothing, which shows that the report can differ.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

const native = createRequire(import.meta.url)('node-gyp-build')(join(import.meta.dirname, '..', '..', 'native'))

const FIELDS = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs']
const credentials = (text) =>
  Object.fromEntries(
    FIELDS.map((name) => [
      name,
      BigInt(`0x${new RegExp(`^${name}:\\s*(\\w+)$`, 'm').exec(text)[1]}`) === 0n ? 'none' : 'some',
    ]),
  )
const ofThread = () => credentials(readFileSync('/proc/thread-self/status', 'utf8'))

/** Returns true if this thread may open a raw socket, which needs CAP_NET_RAW. */
function canOpenRaw() {
  try {
    new native.NativeSocket(2, 3, 112, 1, 100).close()
    return true
  } catch (error) {
    return error.code
  }
}

if (isMainThread) {
  let refused = ''
  try {
    native.dropPrivileges()
  } catch (error) {
    refused = error.code
  }
  const worker = new Worker(new URL(import.meta.url), { workerData: { drop: process.argv[2] !== 'keep' } })
  worker.once('message', (inside) => {
    const main = { ...ofThread(), raw: canOpenRaw() }
    process.stdout.write(`${JSON.stringify({ refused, main, ...inside })}\n`)
  })
} else {
  if (workerData.drop) native.dropPrivileges()
  // `cat` is no shell: it prints the privileges that the child process has received, without another process in
  // between.
  const child = credentials(spawnSync('cat', ['/proc/self/status'], { encoding: 'utf8' }).stdout)
  parentPort.postMessage({ worker: { ...ofThread(), raw: canOpenRaw() }, child })
}
