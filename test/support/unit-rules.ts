/**
 * Enforces the rules of unit tests (docs/testing.md): no program, no thread, no socket, no wait in real time. Vitest
 * loads this module before each file of the project `unit`. A test that breaks a rule fails with the rule's name, even
 * if other code catches the error. A test that needs more belongs in test/integration. A timer that is cleared before
 * it fires is allowed. A timer that does not keep the process alive is also allowed, such as the time limit of a disk
 * on a busy machine.
 */
import childProcess from 'node:child_process'
import dgram from 'node:dgram'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import threads from 'node:worker_threads'
import { afterEach } from 'vitest'

type Methods = Record<string, unknown>

const broken = new Set<string>()

function breaks(rule: string): never {
  broken.add(rule)
  throw new Error(`a unit test ${rule}`)
}

function refuse(target: object, names: readonly string[], rule: string): void {
  const methods = target as Methods
  for (const name of names)
    methods[name] = new Proxy(methods[name] as () => unknown, {
      apply: () => breaks(rule),
      construct: () => breaks(rule),
    })
}

/** Replaces the timers of Node. Vitest's own timers still work, because Vitest copied Node's functions before. */
function refuseWaiting(): void {
  const start = globalThis.setTimeout
  const watched = (callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = start(
      (...given: unknown[]) => {
        if ((ms ?? 0) > 0 && timer.hasRef()) broken.add(`does not wait (${ms} ms)`)
        callback(...given)
      },
      ms,
      ...args,
    )
    return timer
  }
  globalThis.setTimeout = Object.assign(watched, start)
}

refuse(
  childProcess,
  ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync'],
  'starts no program',
)
refuse(threads, ['Worker'], 'starts no thread')
refuse(net.Socket.prototype, ['connect'], 'opens no socket')
refuse(net.Server.prototype, ['listen'], 'opens no socket')
refuse(dgram, ['createSocket'], 'opens no socket')
syncBuiltinESMExports()
refuseWaiting()

afterEach(() => {
  const rules = [...broken]
  broken.clear()
  if (rules.length > 0)
    throw new Error(`a unit test ${rules.join(', ')}: move it to test/integration (docs/testing.md)`)
})
