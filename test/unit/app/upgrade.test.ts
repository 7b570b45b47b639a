/** When `holdfast upgrade` orders the replacement of the engine, and when it refuses. test/netns/upgrade.test.ts replaces a real one. */
import { expect, test } from 'vitest'
import { Upgrade, type UpgradeParts } from '../../../src/app/upgrade.ts'
import type { Config } from '../../../src/config/config.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { identityText, writeRecord } from '../../../src/daemon/guard/restart-record.ts'
import type { RestartPort } from '../../../src/daemon/ports.ts'
import { Recorder } from '../../../src/daemon/telemetry/recorder.ts'

const FILE = '/etc/holdfast/holdfast.yaml'
const KEPT = 'the guardian keeps this engine'

function configured(runDirectory: string): Config {
  const parsed = parseConfig(`runDirectory: ${runDirectory}\nvirtualRouters: []\n`)
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ message }) => message).join())
  return parsed.config
}

/** A daemon with the configuration `inForce`, whose file has the hash `onDisk`. */
function setUp() {
  const now = { inForce: 'a', onDisk: 'a', config: configured('/run/a') }
  const handedOver: string[] = []
  const during = { dryRun: () => {}, webhook: () => {} }
  const restart = {
    rehearse: async () => {
      during.dryRun()
      return { status: 0, output: '' }
    },
    handOver: ({ text }: { text: string }) => {
      handedOver.push(text)
      return KEPT
    },
  } as Partial<RestartPort> as RestartPort
  const record = () => writeRecord({ version: '1', identity: identityText(FILE, now.inForce), routers: [], checks: [] })
  const parts: UpgradeParts = {
    config: now.config,
    daemon: {
      get config() {
        return now.config
      },
      forUpgrade: () => ({ claims: [], text: record() }),
      endUpgrade: () => {},
    },
    guardian: { restart },
    journal: { flush: async () => {} },
    live: {
      rehearse: async () => {
        const report = { changes: [], unchanged: 0, groupsChanged: false, checksChanged: [], restartOnly: [] }
        return { ok: true, file: FILE, hash: now.onDisk, warnings: [], values: [], pausedMs: 0, ...report }
      },
    },
    recorder: new Recorder(undefined, (deliver) => deliver()),
    tapes: { writeNow: () => {} },
    webhook: { finish: async () => during.webhook() },
  }
  return { during, handedOver, now, upgrade: new Upgrade(parts) }
}

test('an engine whose configuration stays is handed over after the dry run', async () => {
  const { handedOver, upgrade } = setUp()
  expect(await upgrade.run()).toEqual({ fault: 'impossible', reason: KEPT })
  expect(handedOver).toHaveLength(1)
})

test.each(['dryRun', 'webhook'] as const)(
  'a reload or an edit after the dry run is refused (during %s)',
  async (step) => {
    for (const change of [{ inForce: 'b', onDisk: 'b' }, { inForce: 'b' }, { onDisk: 'b' }]) {
      const { during, handedOver, now, upgrade } = setUp()
      during[step] = () => void Object.assign(now, change)
      const reason = expect.stringMatching(/^dry run is out of date: .*holdfast\.yaml: has changed meanwhile/)
      expect(await upgrade.run(), JSON.stringify(change)).toEqual({ fault: 'refused', reason })
      expect(handedOver).toEqual([])
    }
  },
)

test('another control socket since the start is refused before the dry run', async () => {
  const { during, handedOver, now, upgrade } = setUp()
  let tried = false
  during.dryRun = () => {
    tried = true
  }
  now.config = configured('/run/b')
  expect(await upgrade.run()).toEqual({ fault: 'impossible', reason: 'api.socket has changed since the start' })
  expect([tried, handedOver]).toEqual([false, []])
})
