/**
 * Every key of the configuration schema, changed alone. A reload puts the new value in force, or names the key as one
 * that waits for the next start. The keys are taken from the schema: a key without a case fails the first test.
 */
import { afterEach, expect, test, vi } from 'vitest'
import { checksOf } from '../../../src/config/checks.ts'
import { type Config, jsonSchema } from '../../../src/config/config.ts'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { Registry } from '../../../src/daemon/router/registry.ts'
import { specOf } from '../../../src/daemon/router/router-spec.ts'
import { isSection, schemaKeys } from '../../support/schema-keys.ts'
import { FakeWorld, PEER, ROUTER, SELF, VIP, VIP2 } from '../daemon/fake-world.ts'

type Keys = Readonly<Record<string, unknown>>
/** Two files, as mappings. */
type Files = readonly [before: Keys, after: Keys]

const PROGRAM = ['/bin/true']
const CHECKS = [
  { name: 'one', tcp: '127.0.0.1:1' },
  { name: 'two', tcp: '127.0.0.1:2' },
]

const router = (before: Keys, after: Keys, rest: Keys = {}): Files => [
  { ...rest, virtualRouters: [{ ...ROUTER, ...before }] },
  { ...rest, virtualRouters: [{ ...ROUTER, ...after }] },
]
const six = (before: Keys, after: Keys): Files => {
  const keys = { addresses: ['fe80::100', 'fd00::100'] }
  return router({ ...keys, ...before }, { ...keys, ...after })
}
const unicast = (before: Keys, after: Keys): Files => {
  const transport = (keys: Keys) => ({ transport: { unicast: { source: SELF, peers: [PEER], ...keys } } })
  return router(transport(before), transport(after))
}
const peer = (before: Keys, after: Keys): Files =>
  unicast({ peers: [{ address: PEER, ...before }] }, { peers: [{ address: PEER, ...after }] })
const tracked = (before: Keys, after: Keys): Files =>
  router({ track: [before] }, { track: [after] }, { healthchecks: CHECKS })
const group = (before: Keys, after: Keys): Files => {
  const routers = [ROUTER, { ...ROUTER, name: 'db', vrid: 52, addresses: [VIP2] }]
  const keys = (more: Keys) => ({ name: 'both', members: ['api', 'db'], ...more })
  const file = (more: Keys) => ({ healthchecks: CHECKS, virtualRouters: routers, syncGroups: [keys(more)] })
  return [file(before), file(after)]
}
const check = (before: Keys, after: Keys = before): Files => {
  const file = (keys: Keys) => ({ virtualRouters: [ROUTER], healthchecks: [{ name: 'web', ...keys }] })
  return [file(before), file(after)]
}
const http = (before: Keys, after: Keys): Files => {
  const url = 'https://localhost:6443/readyz'
  return check({ http: url, ...before }, { http: url, ...after })
}
const combined = (kind: string): Files => {
  const file = (members: readonly string[]) => ({
    virtualRouters: [ROUTER],
    healthchecks: [...CHECKS, { name: 'both', [kind]: members }],
  })
  return [file(['one']), file(['one', 'two'])]
}
const top = (before: Keys, after: Keys): Files => [
  { virtualRouters: [ROUTER], ...before },
  { virtualRouters: [ROUTER], ...after },
]
const webhook = (before: Keys, after: Keys): Files => {
  const keys = (more: Keys) => ({ notify: { webhook: { url: 'http://127.0.0.1:9/a', ...more } } })
  return top(keys(before), keys(after))
}
const knob = (name: string, before: unknown = true, after: unknown = false): Readonly<Record<string, Files>> => ({
  [`virtualRouters.${name}`]: router({ [name]: before }, { [name]: after }),
})

/** Cases of `notify` in a router or a group. */
function programs(at: string, around: (before: Keys, after: Keys) => Files): Readonly<Record<string, Files>> {
  const base = { change: PROGRAM }
  const one = (before: Keys, after: Keys) =>
    around({ notify: { ...base, ...before } }, { notify: { ...base, ...after } })
  return {
    [`${at}.notify.active`]: one({}, { active: PROGRAM }),
    [`${at}.notify.backup`]: one({}, { backup: PROGRAM }),
    [`${at}.notify.fault`]: one({}, { fault: PROGRAM }),
    [`${at}.notify.stop`]: one({}, { stop: PROGRAM }),
    [`${at}.notify.change`]: one({}, { change: [...PROGRAM, 'more'] }),
    [`${at}.notify.user`]: one({ user: 0 }, { user: 1 }),
    [`${at}.notify.capabilities`]: one({}, { capabilities: 'keep' }),
    [`${at}.notify.unsafe`]: one({}, { unsafe: 'skip' }),
    [`${at}.notify.timeout`]: one({ timeout: '1s' }, { timeout: '2s' }),
  }
}

function trackers(at: string, around: (before: Keys, after: Keys) => Files): Readonly<Record<string, Files>> {
  return {
    [`${at}.track.interface`]: around({ interface: 'eth1' }, { interface: 'eth2' }),
    [`${at}.track.healthcheck`]: around({ healthcheck: 'one' }, { healthcheck: 'two' }),
    [`${at}.track.weight`]: around({ interface: 'eth1', weight: -5 }, { interface: 'eth1', weight: -6 }),
    [`${at}.track.reverse`]: around({ healthcheck: 'one' }, { healthcheck: 'one', reverse: true }),
  }
}

/** Keys whose new value is in force in the routers, which are changed or recreated. */
const ROUTERS: Readonly<Record<string, Files>> = {
  'virtualRouters.name': router({}, { name: 'other' }),
  'virtualRouters.vrid': router({}, { vrid: 9 }),
  'virtualRouters.interface': router({}, { interface: 'eth1' }),
  'virtualRouters.interface.holding': router(
    { interface: { holding: SELF } },
    { interface: { holding: '198.51.100.10' } },
  ),
  'virtualRouters.addresses': router({}, { addresses: [VIP2] }),
  'virtualRouters.addresses.address': router({ addresses: [{ address: VIP }] }, { addresses: [{ address: VIP2 }] }),
  'virtualRouters.addresses.label': router({}, { addresses: [{ address: VIP, label: 'eth0:1' }] }),
  'virtualRouters.addresses.interface': router({}, { addresses: [{ address: VIP, interface: 'eth1' }] }),
  'virtualRouters.excludedAddresses': router({}, { excludedAddresses: [VIP2] }),
  'virtualRouters.excludedAddresses.address': router(
    { excludedAddresses: [{ address: VIP2 }] },
    { excludedAddresses: [{ address: 'fd00::9' }] },
  ),
  'virtualRouters.excludedAddresses.label': router(
    { excludedAddresses: [VIP2] },
    { excludedAddresses: [{ address: VIP2, label: 'eth0:1' }] },
  ),
  'virtualRouters.excludedAddresses.interface': router(
    { excludedAddresses: [VIP2] },
    { excludedAddresses: [{ address: VIP2, interface: 'eth1' }] },
  ),
  'virtualRouters.version': router({}, { version: 2 }),
  'virtualRouters.priority': router({}, { priority: 99 }),
  'virtualRouters.advertisementInterval': router({}, { advertisementInterval: '2s' }),
  'virtualRouters.authentication.type': router(
    { version: 2 },
    { version: 2, authentication: { type: 'simple', password: 'a' } },
  ),
  'virtualRouters.authentication.password': router(
    { version: 2, authentication: { type: 'simple', password: 'a' } },
    { version: 2, authentication: { type: 'simple', password: 'b' } },
  ),
  'virtualRouters.preempt': router({}, { preempt: false }),
  'virtualRouters.preemptDelay': router({}, { preemptDelay: '5s' }),
  'virtualRouters.minHold': router({}, { minHold: '1s' }),
  'virtualRouters.startAs': router({ preempt: false }, { preempt: false, startAs: 'active' }),
  'virtualRouters.fault': router({ fault: 'one' }, { fault: 'two' }),
  'virtualRouters.margin': router({}, { margin: 3 }),
  'virtualRouters.transport': router({ transport: 'multicast' }, { transport: { unicast: { peers: [PEER] } } }),
  'virtualRouters.transport.multicast.source': router(
    { transport: { multicast: { source: SELF } } },
    { transport: { multicast: { source: '192.0.2.11' } } },
  ),
  'virtualRouters.transport.unicast.source': unicast({}, { source: '192.0.2.11' }),
  'virtualRouters.transport.unicast.peers': unicast({}, { peers: [PEER, '192.0.2.21'] }),
  'virtualRouters.transport.unicast.peers.address': peer({}, { address: '192.0.2.21' }),
  'virtualRouters.transport.unicast.peers.priority': peer({ priority: 1 }, { priority: 2 }),
  'virtualRouters.transport.unicast.peers.minTtl': peer({ minTtl: 1 }, { minTtl: 2 }),
  'virtualRouters.transport.unicast.peers.maxTtl': peer({ maxTtl: 250 }, { maxTtl: 251 }),
  'virtualRouters.transport.unicast.ttl': unicast({}, { ttl: 64 }),
  'virtualRouters.peers': router({}, { peers: [PEER] }),
  'virtualRouters.peers.address': router({ peers: [{ address: PEER }] }, { peers: [{ address: '192.0.2.21' }] }),
  'virtualRouters.peers.priority': router(
    { peers: [{ address: PEER, priority: 1 }] },
    { peers: [{ address: PEER, priority: 2 }] },
  ),
  ...trackers('virtualRouters', tracked),
  'virtualRouters.preset': router({}, { preset: 'openshift-api' }),
  'virtualRouters.announce.at': router({}, { announce: { at: ['0s', '1s'] } }),
  'virtualRouters.announce.copies': router({}, { announce: { copies: 2 } }),
  'virtualRouters.announce.refresh': router({}, { announce: { refresh: '30s' } }),
  'virtualRouters.announce.refreshCopies': router({}, { announce: { refreshCopies: 2 } }),
  'virtualRouters.announce.onRival.copies': router(
    { announce: { onRival: { copies: 1 } } },
    { announce: { onRival: { copies: 2 } } },
  ),
  'virtualRouters.announce.onRival.delay': router(
    { announce: { onRival: { copies: 1 } } },
    { announce: { onRival: { copies: 1, delay: '1s' } } },
  ),
  'virtualRouters.announce.spacing': router({}, { announce: { spacing: '7ms' } }),
  'virtualRouters.announce.spacingNa': six({}, { announce: { spacingNa: '7ms' } }),
  'virtualRouters.lifetime': router({}, { lifetime: 'off' }),
  'virtualRouters.onDuplicate': router({}, { onDuplicate: 'yield' }),
  'virtualRouters.duplicateAllowed': router({}, { duplicateAllowed: ['00:1c:73:00:00:99'] }),
  ...programs('virtualRouters', router),
  'virtualRouters.profile': router({}, { profile: 'rfc9568' }),
  'virtualRouters.addressPrefix': router(
    { addresses: [`${VIP}/24`] },
    { addresses: [`${VIP}/24`], addressPrefix: 'written' },
  ),
  'virtualRouters.ownAddresses': router({ priority: 255 }, { priority: 255, ownAddresses: 'installed' }),
  ...knob('checksum', 'pseudo-header', 'message-only'),
  ...knob('checksumAccepted', 'either', 'pseudo-header'),
  ...knob('fastPreempt'),
  ...knob('lastAdvertisement'),
  ...knob('keepUntilClaimed'),
  ...knob('announceOnRival'),
  ...knob('probeRivals'),
  ...knob('radar'),
  ...knob('stagger'),
  ...knob('leaving'),
  ...knob('remindSuccessor'),
  ...knob('onlyListedPeers'),
  ...knob('ttlCheck'),
  'virtualRouters.firstAddressLinkLocal': six({ firstAddressLinkLocal: true }, { firstAddressLinkLocal: false }),
  ...knob('assertOnLower'),
  ...knob('assertSpacing', '100ms', '200ms'),
  ...knob('priorityZeroFromActiveOnly'),
  ...knob('advertisePriorityChange'),
  ...knob('groupTie'),
  ...knob('addressListCheck'),
  ...knob('intervalCheck'),
  'virtualRouters.oldUnicastChecksum': router(
    { transport: { unicast: { peers: [PEER] } } },
    { transport: { unicast: { peers: [PEER] } }, oldUnicastChecksum: true },
  ),
  'syncGroups.name': [group({}, {})[0], group({}, { name: 'other' })[1]],
  'syncGroups.members': group({}, { members: ['api'] }),
  'syncGroups.preset': group({}, { preset: 'openshift-api' }),
  ...trackers('syncGroups', (before, after) => group({ track: [before] }, { track: [after] })),
}

/** Keys whose new value is in force in the programs of the router's group. */
const GROUP_PROGRAMS = programs('syncGroups', group)

/** Keys whose new value the checking thread gets. */
const HEALTHCHECKS: Readonly<Record<string, Files>> = {
  'healthchecks.name': [check({ tcp: '127.0.0.1:1' })[0], check({ tcp: '127.0.0.1:1', name: 'other' })[1]],
  'healthchecks.http': http({}, { http: 'https://localhost:6443/livez' }),
  'healthchecks.tcp': check({ tcp: '127.0.0.1:1' }, { tcp: '127.0.0.1:2' }),
  'healthchecks.exec': check({ exec: PROGRAM }, { exec: [...PROGRAM, 'more'] }),
  'healthchecks.file': check({ file: '/run/a' }, { file: '/run/b' }),
  'healthchecks.process': check({ process: 'a' }, { process: 'b' }),
  'healthchecks.interval': http({}, { interval: '2s' }),
  'healthchecks.fastInterval': http({}, { fastInterval: '30ms' }),
  'healthchecks.timeout': http({}, { timeout: '900ms' }),
  'healthchecks.rise': http({}, { rise: 2 }),
  'healthchecks.fall': http({}, { fall: 2 }),
  'healthchecks.initial': http({}, { initial: 'down' }),
  'healthchecks.jitter': http({}, { jitter: '5%' }),
  'healthchecks.onUnknown': http({}, { onUnknown: 'fail' }),
  'healthchecks.unknownAfter': http({}, { unknownAfter: '20s' }),
  'healthchecks.events': http({}, { events: false }),
  'healthchecks.method': http({}, { method: 'HEAD' }),
  'healthchecks.headers': http({}, { headers: { Host: 'a' } }),
  'healthchecks.status': http({}, { status: 200 }),
  'healthchecks.body': http({}, { body: 'ok' }),
  'healthchecks.body.matches': http({ body: { matches: 'ok' } }, { body: { matches: 'o+k' } }),
  'healthchecks.redirects': http({}, { redirects: 1 }),
  'healthchecks.tls.verify': http({}, { tls: { verify: false } }),
  'healthchecks.tls.caFile': http({}, { tls: { caFile: '/etc/ca.crt' } }),
  'healthchecks.tls.serverName': http({}, { tls: { serverName: 'api.example.org' } }),
  'healthchecks.unixSocket': http({}, { unixSocket: '/run/api.sock' }),
  'healthchecks.send': check({ tcp: '127.0.0.1:1' }, { tcp: '127.0.0.1:1', send: 'PING' }),
  'healthchecks.expect': check({ tcp: '127.0.0.1:1' }, { tcp: '127.0.0.1:1', expect: 'PONG' }),
  'healthchecks.expect.matches': check(
    { tcp: '127.0.0.1:1', expect: { matches: 'a' } },
    { tcp: '127.0.0.1:1', expect: { matches: 'b' } },
  ),
  'healthchecks.user': check({ exec: PROGRAM }, { exec: PROGRAM, user: 1 }),
  'healthchecks.capabilities': check({ exec: PROGRAM }, { exec: PROGRAM, capabilities: 'keep' }),
  'healthchecks.unsafe': check({ exec: PROGRAM }, { exec: PROGRAM, unsafe: 'skip' }),
  'healthchecks.environment': check({ exec: PROGRAM }, { exec: PROGRAM, environment: { A: 'b' } }),
  'healthchecks.content': check({ file: '/run/a' }, { file: '/run/a', content: 'weight' }),
  'healthchecks.count': check({ process: 'a' }, { process: 'a', count: 2 }),
}

const COMBINATIONS: Readonly<Record<string, Files>> = {
  'healthchecks.all': combined('all'),
  'healthchecks.any': combined('any'),
}

/** Keys whose new value the webhook gets (app/run.ts passes it the webhook of the configuration in force). */
const WEBHOOK: Readonly<Record<string, Files>> = {
  'notify.webhook.url': webhook({}, { url: 'http://127.0.0.1:9/b' }),
  'notify.webhook.events': webhook({}, { events: ['stopped'] }),
  'notify.webhook.headers': webhook({}, { headers: { A: 'b' } }),
  'notify.webhook.timeout': webhook({}, { timeout: '2s' }),
  'notify.webhook.retry.first': webhook({}, { retry: { first: '2s' } }),
  'notify.webhook.retry.most': webhook({}, { retry: { most: '2m' } }),
  'notify.webhook.retry.giveUpAfter': webhook({}, { retry: { giveUpAfter: '2m' } }),
}

/** Keys whose new value the log gets (app/run.ts passes it the log of the configuration in force). */
const LOG: Readonly<Record<string, Files>> = {
  'log.level': top({}, { log: { level: 'debug' } }),
  'log.format': top({}, { log: { format: 'text' } }),
}

/** Keys that the engine reads in the configuration in force, at the end of each turn. */
const IN_FORCE: Readonly<Record<string, Files>> = {
  lease: top({}, { lease: 'on' }),
  onCrash: top({ lease: 'on' }, { lease: 'on', onCrash: 'restart' }),
}

/** Keys that the reload names as waiting for the next start. */
const AT_START: Readonly<Record<string, Files>> = {
  runDirectory: top({ runDirectory: '/run/a' }, { runDirectory: '/run/b' }),
  'api.socket': top({ api: { socket: '/run/a.sock' } }, { api: { socket: '/run/b.sock' } }),
  'api.listen': top({}, { api: { listen: '127.0.0.1:1' } }),
  'api.metricsCompat': top({}, { api: { metricsCompat: 'keepalived-exporter' } }),
  'api.public': top({}, { api: { public: true } }),
  'api.peers': top({}, { api: { peers: ['http://10.0.0.12:9655'] } }),
  'journal.file': top({}, { journal: { file: false } }),
  'journal.maxSize': top({}, { journal: { maxSize: '1MiB' } }),
  io: top({}, { io: 'raw-socket' }),
}

/** Keys with one possible value. */
const CONSTANT = ['version']

const ALL = {
  ...ROUTERS,
  ...GROUP_PROGRAMS,
  ...HEALTHCHECKS,
  ...COMBINATIONS,
  ...WEBHOOK,
  ...LOG,
  ...IN_FORCE,
  ...AT_START,
}

test('every key of the schema has a case', () => {
  const keys = schemaKeys(jsonSchema()).filter(({ schema }) => !isSection(schema))
  const paths = [...new Set(keys.map(({ path }) => path))].filter((path) => !CONSTANT.includes(path))
  expect(paths.length).toBeGreaterThan(150)
  expect(Object.keys(ALL).sort()).toEqual(paths.sort())
})

type World = Keys & Partial<Record<'virtualRouters' | 'syncGroups' | 'healthchecks', never[]>>
const worldOf = ({ virtualRouters = [], syncGroups = [], healthchecks = [] }: World) =>
  new FakeWorld(virtualRouters, { syncGroups, healthchecks }).start()

/** Returns a daemon with the first file, to which the second one was handed. */
function reloaded([before, after]: Files) {
  const world = worldOf(before)
  const [old, next] = [world.config(before), world.config(after)]
  world.daemon.reload(old)
  world.settle()
  const report = world.daemon.reload(next)
  world.settle()
  if (!report.ok) throw new Error(report.reason)
  return { world, old, next, report }
}

/** Returns the parameters of routers in a daemon that starts with this configuration on this node. */
function told(world: FakeWorld, config: Config) {
  return resolveRouters(config, world.daemon.nodeView()).routers.map((resolved) => {
    const { priority: _, ...parameters } = resolved.parameters
    return { spec: specOf(resolved), parameters, interfaceName: resolved.interfaceName, group: resolved.group }
  })
}

/** Returns the parameters of running routers. */
const known = (registry: Registry) =>
  [...registry.routers.values()].map(({ spec, parameters: { priority: _, ...parameters }, io, group }) => {
    return { spec, parameters, interfaceName: io?.interfaceName, group: group.name }
  })

afterEach(() => vi.restoreAllMocks())

test.each(Object.entries(ROUTERS))('a changed %s is in force in the router', (_, files) => {
  const regroup = vi.spyOn(Registry.prototype, 'regroup')
  const { world, old, next } = reloaded(files)
  const registry = regroup.mock.contexts.at(-1)
  if (!(registry instanceof Registry)) throw new Error('no registry')
  expect(told(world, next), 'the case changes something').not.toEqual(told(world, old))
  // A router in fault has no interface.
  const expected = told(world, next).map((each) => ({
    ...each,
    interfaceName: registry.routers.get(each.spec.name)?.io === undefined ? undefined : each.interfaceName,
  }))
  expect(known(registry)).toEqual(expected)
})

test.each(Object.entries(GROUP_PROGRAMS))('a changed %s is in force when the sync group moves', (_, files) => {
  /** Returns the programs that are ready for the group, and those that run when it becomes Active. */
  const notified = (world: FakeWorld) => {
    world.advance(10_000)
    const last = world.notices.posted.findLast(({ lane }) => lane.includes('both'))
    return { lanes: world.notices.lanes, runs: last?.runs, set: last?.set, timeout: last?.timeout }
  }
  const fresh = (file: Keys) => notified(worldOf(file))
  const { world } = reloaded(files)
  const expected = fresh(files[1])
  expect(expected.runs).not.toHaveLength(0)
  expect(expected).not.toEqual(fresh(files[0]))
  expect(notified(world)).toEqual(expected)
})

test.each(Object.entries(HEALTHCHECKS))('a changed %s is in force in the checking thread', (_, files) => {
  const { world, old, next } = reloaded(files)
  const probes = (config: Config) => checksOf(config).flatMap((each) => (each.kind === 'probe' ? [each.spec] : []))
  expect(probes(next)).not.toEqual(probes(old))
  expect(world.checks.specs).toEqual(probes(next))
})

test.each(Object.entries(COMBINATIONS))('a changed %s is in force in the status', (_, files) => {
  const { world, report } = reloaded(files)
  expect(report.checksChanged).toEqual(['both'])
  const both = world.daemon.snapshot().healthchecks.find(({ name }) => name === 'both')
  expect(both?.target).toBe('one, two')
})

test.each(Object.entries(WEBHOOK))('a changed %s is in force in the configuration that the poster gets', (_, files) => {
  const { world, old, next } = reloaded(files)
  expect(next.notify?.webhook).not.toEqual(old.notify?.webhook)
  expect(world.daemon.config.notify?.webhook).toEqual(next.notify?.webhook)
})

test.each(Object.entries(LOG))('a changed %s is in force in the configuration that the log gets', (path, files) => {
  const { world, old, next, report } = reloaded(files)
  expect(next.log).not.toEqual(old.log)
  expect(world.daemon.config.log).toEqual(next.log)
  expect(report.restartOnly).not.toContain(path)
})

test.each(Object.entries(IN_FORCE))('a changed %s is in force in the configuration of the engine', (path, files) => {
  const { world, old, next, report } = reloaded(files)
  const keysOf = ({ lease, onCrash }: typeof next) => ({ lease, onCrash })
  expect(keysOf(next)).not.toEqual(keysOf(old))
  expect(keysOf(world.daemon.config)).toEqual(keysOf(next))
  expect(report.restartOnly).not.toContain(path)
})

test.each(Object.entries(AT_START))('a changed %s is told as waiting for the next start', (path, files) => {
  const { restartOnly } = reloaded(files).report
  // One entry stands for the whole journal, and the run directory contains the socket and the journal.
  expect(restartOnly).toContain(path.startsWith('journal.') ? 'journal' : path)
})

test('a changed schedule for the excluded addresses of the other family is a change of the router', () => {
  const file = (announce: Keys) => ({
    virtualRouters: [{ ...ROUTER, addresses: ['fe80::100'], excludedAddresses: [VIP], announce }],
  })
  // IPv6 has these by default, and IPv4 has not.
  const { report } = reloaded([file({}), file({ at: ['0s', '1s', '2s'] })])
  expect(report.changes).toEqual([{ router: 'api', change: 'changed' }])
})
