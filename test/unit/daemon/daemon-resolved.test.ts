/** A daemon that receives its routers as they were resolved while its configuration was checked. */
import { describe, expect, test } from 'vitest'
import { lookOnce, nodeView } from '../../../src/app/machine/node.ts'
import type { Config } from '../../../src/config/config.ts'
import { type ResolvedRouter, resolveRouters } from '../../../src/config/resolve.ts'
import type { NetworkPort } from '../../../src/daemon/ports.ts'
import { address } from '../../../src/wire/address.ts'
import { FakeWorld, link, present, ROUTER, SELF, type WorldOptions } from './fake-world.ts'

/** A router without a configured source chooses this address before SELF, because neither is in the network of FAR. */
const LEFT = '192.0.2.7'
const FAR = { ...ROUTER, addresses: ['203.0.113.100'] }
const NODE = [present(2, `${SELF}/24`), present(3, '198.51.100.10/24')]

const resolvedOn =
  (addresses: readonly (typeof NODE)[number][]) =>
  (config: Config): readonly ResolvedRouter[] => {
    const tables = { links: () => [link(2, 'eth0'), link(3, 'eth1')], addresses: () => [...addresses] }
    return resolveRouters(config, nodeView(tables, config)).routers
  }

function statusOf(options: WorldOptions) {
  const world = new FakeWorld(
    [ROUTER, { ...ROUTER, name: 'auto', vrid: 52, interface: 'auto', addresses: ['198.51.100.100'] }],
    options,
  )
  return world.start().daemon.snapshot().routers
}

describe('routers that were resolved before the daemon starts', () => {
  test('given routers are the same as those that the daemon resolves', () => {
    const own = statusOf({})
    const given = statusOf({ resolved: resolvedOn(NODE) })
    const facts = (routers: typeof own) =>
      routers.map(({ name, state, interface: on, source, faults }) => ({ name, state, on, source, faults }))
    expect(facts(given)).toEqual(facts(own))
    expect(facts(given)[0]).toMatchObject({ state: 'Backup', on: 'eth0', source: SELF })
  })

  test('given routers are used without resolving them again', () => {
    const world = new FakeWorld([ROUTER], {
      resolved: (config) => resolvedOn(NODE)(config).map((each) => ({ ...each, configuredFault: 'as given' })),
    })
    expect(world.start().router()).toMatchObject({ faults: ['configured'], configuredFault: 'as given' })
  })

  test('given routers are resolved again if the sweep removed a chosen source', () => {
    const left = present(2, `${LEFT}/32`)
    let source: string | undefined
    const world = new FakeWorld([FAR], {
      resolved(config) {
        const [router, ...others] = resolvedOn([left, ...NODE])(config)
        source = router?.source
        return router === undefined ? others : [router, ...others]
      },
    })
    expect(source, 'source by the tables before the start').toBe(LEFT)
    world.addresses = [left, ...world.addresses]
    world.leave([{ address: address(LEFT), prefixLength: 32, interfaceName: 'eth0' }])
    world.start()
    expect(world.records.map(({ message }) => message)).toContain(
      `Removed ${LEFT}/32 on eth0: an earlier run of holdfast installed it and did not remove it`,
    )
    expect(world.router().source, 'source of the running router').toBe(SELF)
  })

  test('the first answers of the network port are the tables by which the configuration was judged', () => {
    let asked = 0
    const port: NetworkPort = {
      links: () => [link(++asked, 'eth0')],
      addresses: () => [present(++asked, `${SELF}/24`)],
      apply: () => [],
      settle: () => {},
      watch: () => {},
      drain: () => {},
      close: () => {},
    }
    const { isComplete, network, tables } = lookOnce(port)
    expect([isComplete, tables.links(), tables.addresses()]).toEqual([
      true,
      [link(1, 'eth0')],
      [present(2, `${SELF}/24`)],
    ])
    expect([network.links(), network.addresses(), asked], 'the first answers').toEqual([
      tables.links(),
      tables.addresses(),
      2,
    ])
    network.links()
    network.addresses()
    expect(asked, 'questions to the kernel').toBe(4)
  })
})
