/** The JSON Schemas in docs/ are those of the code, and what the daemon answers is what they say: nothing more, nothing less. */
import { expect, test } from 'vitest'
import { SCHEMA_NAMES, schemaCommand } from '../../../src/cli/schema.ts'
import { Chronicle } from '../../../src/daemon/telemetry/chronicle.ts'
import { eventPageSchema } from '../../../src/events/event-page.ts'
import { withFormerNames } from '../../../src/http/former-names.ts'
import { publicPage, publicStatus } from '../../../src/http/public-view.ts'
import { statusSchema } from '../../../src/http/status-schema.ts'
import { expectDocument } from '../../support/generated-document.ts'
import { FakeWorld, link, PEER, ROUTER, VIP, VIP2 } from '../daemon/fake-world.ts'

test.each(['status', 'events', 'webhook'])('docs/%s.schema.json', (name) => {
  expectDocument(`${name}.schema.json`, schemaCommand(name).stdout)
})

test('every schema is one, and a name that is none is said to be none', () => {
  expect(SCHEMA_NAMES).toEqual(['config', 'status', 'events', 'webhook'])
  for (const name of SCHEMA_NAMES)
    expect(JSON.parse(schemaCommand(name).stdout)).toMatchObject({ $schema: expect.stringContaining('2020-12') })
  for (const name of ['other', 'constructor', '__proto__'])
    expect(schemaCommand(name)).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('config, status, events, webhook'),
    })
})

/** Where as little as possible is empty or null. */
function worlds(): readonly FakeWorld[] {
  const syncGroups = [{ name: 'alone', members: ['api'] }]
  const healthchecks = [
    { name: 'lb', tcp: '[::1]:9445' },
    { name: 'none', exec: ['/bin/x'] },
    { name: 'both', all: ['lb', 'none'] },
  ]
  const track = [{ interface: 'eth1', weight: -20 }, { healthcheck: 'lb', weight: 20 }, { healthcheck: 'both' }]
  const world = new FakeWorld([{ ...ROUTER, track, notify: { change: ['/bin/told'] } }], { syncGroups, healthchecks })
  world.start()
  world.health('lb', 'up')
  world.health('none', 'up')
  world.hear(120, { addresses: [VIP2] })
  world.advance(8_000)
  world.claim(VIP)
  world.advance(3_000)
  for (const notification of world.notices.posted) world.notices.end(notification)
  const yielding = new FakeWorld().start()
  yielding.advance(4_000)
  yielding.daemon.yield('api', 60_000)
  const down = new FakeWorld()
  down.links.set(2, link(2, 'eth0', { up: false }))
  const backup = new FakeWorld().start()
  backup.hear(200, { source: PEER })
  return [world, yielding, down.start(), backup]
}

test('a status passes, with nothing that the schema does not name', () => {
  for (const world of worlds()) {
    const snapshot = world.daemon.snapshot()
    for (const status of [snapshot, publicStatus(snapshot)].map(withFormerNames))
      expect(statusSchema.parse(status)).toEqual(status)
  }
})

test('a page of events passes, with nothing that the schema does not name', () => {
  const chronicle = new Chronicle()
  chronicle.record({ kind: 'stopOrdered', trigger: 'SIGTERM' })
  chronicle.record({ kind: 'checkChanged', check: 'lb', from: 'up', to: 'down', detail: 'x', effects: [] })
  for (const page of [chronicle.read(), publicPage(chronicle.read())]) expect(eventPageSchema.parse(page)).toEqual(page)
})
