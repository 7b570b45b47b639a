/** The exit status of `holdfast upgrade`, by which install.sh decides whether it restarts the service. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { upgradeCommand } from '../../../src/cli/upgrade.ts'

const upgraded = (to: string, routers: readonly string[] = []) => ({
  ...{ kind: 'engineUpgraded', from: '1', to, routers, tookMs: 200 },
})
const STARTED = { kind: 'started' }
const LONG_AGO = [STARTED, upgraded('0.1', ['api'])]

/** Starts the control socket of an engine that ends at the order to upgrade. The next engine has these events. */
async function ending(events: readonly object[]): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'hf-upgrade-'))
  const path = join(directory, 'holdfast.sock')
  let pid = 1
  const server = createServer((request, response) => {
    if (request.url === '/v1/upgrade') {
      pid = 2
      request.socket.destroy()
    } else if (request.url === '/v1/events') response.end(JSON.stringify({ events }))
    else response.end(JSON.stringify({ pid, routers: [{ name: 'api', state: 'Active' }] }))
  })
  server.listen(path)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
    rmSync(directory, { recursive: true, force: true })
  })
  return path
}

test.each([
  { what: 'a kept address', own: [upgraded('2', ['api'])], exitCode: 0, text: /^Version 2 .*api kept the addresses/ },
  { what: 'a released address', own: [upgraded('2')], exitCode: 2, text: /Version 2 .*released the addresses of api/ },
  { what: 'a crash, and an upgrade long ago', own: [], exitCode: 1, text: /started again, but not by this upgrade/ },
])('$what results in status $exitCode', async ({ exitCode, own, text }) => {
  const outcome = await upgradeCommand(await ending([...LONG_AGO, STARTED, ...own]))
  expect(outcome.exitCode, outcome.stderr).toBe(exitCode)
  expect(outcome.stdout + outcome.stderr).toMatch(text)
})
