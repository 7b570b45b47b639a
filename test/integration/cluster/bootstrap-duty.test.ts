/**
 * A bootstrap node that has released the VIP, when its agent starts again: with keepalived's orders, and with the
 * intent of holdfast's engine.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { wasStopped, watchBootstrap } from '../../../src/cluster/runtime/bootstrap-duty.ts'
import { putFact } from '../../../src/cluster/runtime/fact-file.ts'
import { eventually } from '../../../src/lab/wait.ts'

const SOON = { within: 20_000, every: 20 }
const end: (() => unknown)[] = []
afterEach(async () => {
  for (const each of end.splice(0).reverse()) await each()
})

test.each(['our engine', 'keepalived'])(
  '%s is stopped at the first look, and reloaded when the API is ready',
  {
    timeout: 40_000,
  },
  async (engine) => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-bootstrap-'))
    end.push(() => rmSync(directory, { recursive: true, force: true }))
    let isReady = false
    const api = createServer((_, response) => response.writeHead(isReady ? 200 : 500).end())
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
    end.push(() => api.close())
    const address = api.address() as AddressInfo
    const file = join(directory, 'bootstrap-stopped')
    putFact(file, true)
    const said: string[] = []
    const ending = new AbortController()
    const over = watchBootstrap(
      {
        wishes: { stoppedIs: (isStopped) => said.push(isStopped ? 'stop' : 'reload') },
        say: engine === 'keepalived' ? (word) => said.push(word) : undefined,
        log: () => {},
        localApi: `http://127.0.0.1:${address.port}`,
        stateDirectory: directory,
      },
      ending.signal,
    )
    end.push(async () => {
      ending.abort()
      await over
    })
    const says = (words: string) => eventually(words, () => said.join() === words, { sight: () => said, ...SOON })
    await says('stop')
    expect(wasStopped(directory)).toBe(true)
    isReady = true
    await says('stop,reload')
    expect(existsSync(file)).toBe(false)
  },
)
