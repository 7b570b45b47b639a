/**
 * Loaded before the product's own bundle (NODE_OPTIONS=--import=…): writes a JSON line for each script that V8 compiles,
 * into the file SCRIPTS: in which thread, which file it is, whether it was given a code cache, and whether V8 took it.
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
