/**
 * Loaded before the product's own bundle (NODE_OPTIONS=--import=…). It writes a JSON line into the file SCRIPTS for
 * each script that V8 compiles: the thread, the file, whether it has a code cache, and whether V8 accepted it.
 */
import { appendFileSync } from 'node:fs'
import { basename } from 'node:path'
import vm from 'node:vm'
import { isMainThread } from 'node:worker_threads'

const thread = isMainThread ? 'engine' : 'worker'

vm.Script = class extends vm.Script {
  constructor(text, options) {
    super(text, options)
    const given = options.cachedData !== undefined
    const taken = given && !this.cachedDataRejected
    const line = { thread, file: basename(options.filename), given, taken }
    appendFileSync(process.env.SCRIPTS, `${JSON.stringify(line)}\n`)
  }
}
