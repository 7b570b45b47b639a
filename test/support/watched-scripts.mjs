/**
 * Observes which scripts V8 compiles. Node loads this script before the product's own bundle (NODE_OPTIONS=--import=…).
 * For each script it appends a JSON line to the file SCRIPTS: the thread, the script's path, whether the script has a
 * code cache, and whether V8 accepted that cache.
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
