/**
 * Simulates a node whose network changes. The two interfaces of the node disappear, come back and change, with their
 * own addresses, and its operator reloads configuration files. The module knows which addresses an administrator has
 * set, and what a healthy node looks like. The module does not decide which events happen nor when.
 */
import { FakeWorld, link, present, ROUTER, type RouterConfig, SELF } from '../unit/daemon/fake-world.ts'
import { hasOneSocket, wrongs } from './node-history.ts'
import { PaperFiles, type Written } from './paper-files.ts'

const [API, FIRST, SECOND, SPARE] = ['192.0.2.100', '192.0.2.101', '198.51.100.100', '192.0.2.102'] as const
export const VIPS = [API, FIRST, SECOND, SPARE]
/**
 * Waiting times in ms. The last waiting time is longer than every pause and every yield of a node with many failures
 * (at most 300 s, twice).
 */
const PATIENCE = [5_000, 15_000, 80_000, 600_000]

export type Nic = { readonly name: string; readonly renamed: string; readonly own: string; readonly peer: string }
export const NICS: readonly Nic[] = [
  { name: 'eth0', renamed: 'lan0', own: `${SELF}/24`, peer: '192.0.2.2' },
  { name: 'eth1', renamed: 'lan1', own: '198.51.100.10/24', peer: '198.51.100.2' },
]

type File = {
  readonly routers: readonly RouterConfig[]
  readonly syncGroups: readonly { readonly name: string; readonly members: readonly string[] }[]
}
const router = (name: string, vrid: number, on: unknown, addresses: readonly string[], more: RouterConfig = {}) => ({
  ...ROUTER,
  ...{ name, vrid, interface: on, addresses },
  ...more,
})
const G1 = router('g1', 60, 'eth0', [FIRST])
const G2 = router('g2', 60, 'eth1', [SECOND])
const USUAL: File = {
  routers: [router('api', 51, 'auto', [API]), G1, G2],
  syncGroups: [{ name: 'g', members: ['g1', 'g2'] }],
}
const UNICAST = { transport: { unicast: { peers: ['192.0.2.2'] } } }
const HASTY = { priority: 30, advertisementInterval: '100ms' }
/** Path of the file from which a router with `following a file` reads its addresses. */
const ADDRESS_FILE = '/run/primary-ip'
export const SAYINGS: readonly Written[] = [
  { address: SELF },
  { address: '198.51.100.10' },
  { address: '203.0.113.7' },
  { address: API },
  { problem: 'it does not exist' },
]
const weighs = (on: string) => ({ track: [{ interface: on, weight: -20 }] })
export const FILES: Readonly<Record<string, File>> = {
  usual: USUAL,
  'no group, one address more': { routers: [router('api', 51, 'eth0', [API, SPARE]), G1, G2], syncGroups: [] },
  'all in one group, VRIDs moved': {
    routers: [router('api', 52, 'auto', [API]), router('g1', 51, 'eth0', [FIRST]), G2],
    syncGroups: [{ name: 'g', members: ['api', 'g1', 'g2'] }],
  },
  'addresses exchanged, g2 gone': {
    routers: [router('api', 51, 'auto', [FIRST]), router('g1', 60, 'eth0', [API])],
    syncGroups: [{ name: 'g', members: ['api', 'g1'] }],
  },
  'unicast, g1 gone': {
    routers: [
      router('api', 51, 'auto', [API], UNICAST),
      { ...G2, priority: 50, track: [{ interface: 'eth0', weight: 0 }] },
    ],
    syncGroups: [],
  },
  'hasty and tracking': {
    routers: [router('api', 51, 'eth0', [API], HASTY), { ...G1, ...weighs('eth1') }, G2],
    syncGroups: [{ name: 'h', members: ['g2', 'g1'], ...weighs('lan0') }],
  },
  'following an address': {
    routers: [router('api', 51, { holding: SELF }, [API]), router('g1', 60, { holding: SELF }, [FIRST]), G2],
    syncGroups: [{ name: 'g', members: ['g1', 'g2'] }],
  },
  'following a file, in unicast': {
    routers: [router('api', 51, { holding: ADDRESS_FILE }, [API], UNICAST), G1],
    syncGroups: [],
  },
}

/** The simulated node, together with the addresses and links that its administrator has set. */
export class MovingNode {
  readonly #files = new PaperFiles()
  readonly world = new FakeWorld(USUAL.routers, { syncGroups: USUAL.syncGroups, addressFiles: this.#files })
  /** Interface index of each network interface. An interface that is created again gets a new index. */
  readonly #indexes = new Map(NICS.map(({ name }, i) => [name, 2 + i]))
  #nextIndex = 10
  /** Addresses that other programs have added and the daemon does not yet take for its own. */
  readonly #others = new Set<string>()

  indexOf({ name }: Nic): number {
    return this.#indexes.get(name) ?? 0
  }

  change(nic: Nic, what: Parameters<typeof link>[2]): void {
    const old = this.world.links.get(this.indexOf(nic))
    if (old !== undefined) this.world.setLink({ ...old, ...what })
  }

  rename(nic: Nic, name: string): void {
    this.change(nic, { name })
    // The kernel reports every address of an interface again after the interface was renamed.
    for (const one of this.world.addresses) {
      if (one.interfaceIndex === this.indexOf(nic)) this.world.notify({ kind: 'addressAdded', present: one })
    }
  }

  remove(nic: Nic): void {
    if (this.world.links.has(this.indexOf(nic))) this.world.removeLink(this.indexOf(nic))
  }

  /** Restores the interface to the state of a healthy node. */
  restore(nic: Nic): void {
    if (!this.world.links.has(this.indexOf(nic))) this.#indexes.set(nic.name, this.#nextIndex++)
    this.world.setLink(link(this.indexOf(nic), nic.name))
    this.address('add', nic, nic.own)
  }

  newMac(nic: Nic): void {
    this.change(nic, { mac: link(this.#nextIndex++, '').mac })
  }

  address(action: 'add' | 'remove', nic: Nic, text: string): void {
    if (!this.world.links.has(this.indexOf(nic))) return
    this.world.foreign(action, present(this.indexOf(nic), text))
    if (action === 'add') this.#others.add(text.replace(/\/.*/, ''))
  }

  say(written: Written): void {
    this.#files.write(ADDRESS_FILE, written)
    this.world.settle()
  }

  removeEverywhere(unwanted: (address: string, prefixLength: number) => boolean): void {
    for (const one of this.world.addresses) {
      if (VIPS.some((vip) => vip === one.address) && unwanted(one.address, one.prefixLength))
        this.world.foreign('remove', one)
    }
  }

  reload({ routers, syncGroups }: File): void {
    this.world.reload(routers, { syncGroups })
  }

  hear(nic: Nic, priority: number, vrid: number): void {
    if (hasOneSocket(this.world, nic.name)) {
      this.world.hear(priority, { vrid, on: nic.name, source: nic.peer, addresses: [API] })
    }
  }

  /**
   * Faults of the node at this moment. The virtual address of a router that was removed, or of no router, belongs to
   * the administrator if the administrator has added it.
   */
  get wrongs(): readonly string[] {
    const staying = this.world.daemon.snapshot().routers.filter(({ departing }) => !departing)
    for (const { addresses } of staying) for (const vip of addresses) this.#others.delete(vip.address)
    return wrongs(this.world, new Set(VIPS.filter((vip) => !this.#others.has(vip))))
  }

  /** Ends every disturbance, and lets the longest time pass that the daemon may need. */
  putInOrder(): void {
    const { world } = this
    // A virtual address with the prefix length of a network looks like a network to "auto". The spare virtual address
    // belongs to no router.
    this.removeEverywhere((vip, prefixLength) => prefixLength === 24 || vip === SPARE)
    world.addressFailures.clear()
    world.openFailure = undefined
    world.sendFailure = undefined
    world.holdNotifications = false
    world.settle()
    // A node's own address on its other interface looks like a network to "auto".
    for (const { own } of NICS)
      for (const one of this.world.addresses.filter(
        ({ address, prefixLength }) => `${address}/${prefixLength}` === own,
      ))
        this.world.foreign('remove', one)
    for (const nic of NICS) this.restore(nic)
    this.reload(USUAL)
    for (const wait of PATIENCE) {
      world.advance(wait)
      if (JSON.stringify(this.end) === JSON.stringify(this.wantedEnd)) return
    }
  }

  get end(): readonly unknown[] {
    const routers = this.world.daemon.snapshot().routers.map(({ name, state, faults }) => [name, state, ...faults])
    return [routers.sort(), this.world.installed, this.openSockets]
  }

  get wantedEnd(): readonly unknown[] {
    const [first = 0, second = 0] = NICS.map((nic) => this.indexOf(nic))
    const installed = [`${API}/32@${first}`, `${FIRST}/32@${first}`, `${SECOND}/32@${second}`]
    return [['api', 'g1', 'g2'].map((name) => [name, 'Active']), installed.sort(), 2]
  }

  get openSockets(): number {
    return this.world.sockets.filter(({ closed }) => !closed).length
  }
}
