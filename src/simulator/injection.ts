/** Starts a fault of any kind on a simulated LAN or node, and ends the fault. */
import { type Machine, STARTS } from './node/machine.ts'
import type { Fault, FaultKind } from './scenario.ts'
import type { VirtualTime } from './virtual-time.ts'
import { FAIR, type Wire } from './wire.ts'
import type { Witness } from './witness.ts'

/** Ends the fault that has been started. */
type Undo = () => void

export type Place = {
  readonly time: VirtualTime
  readonly wire: Wire
  readonly witness: Witness
  readonly nodes: readonly Machine[]
}

type Cut = 'in' | 'out' | 'both'
type Hit = Place & {
  readonly node: Machine
  readonly amount: number
  readonly checks: readonly string[] | undefined
  readonly ms: number
}
type LanFault = 'loss' | 'delay' | 'duplicates'

/**
 * Starts a fault on the simulated LAN or node. `node` is absent for a fault of the LAN. Returns the function that ends
 * the fault.
 */
export function inject(fault: Fault, node: Machine | undefined, place: Place): Undo {
  const { amount = 0, checks, kind, ms } = fault
  if (node === undefined) {
    if (!isOfLan(kind)) throw new Error(`Cannot inject "${kind}": it needs a node`)
    return ON_LAN[kind](place.wire, amount)
  }
  if (isOfLan(kind)) throw new Error(`Cannot inject "${kind}" on ${node.name}`)
  return ON_NODE[kind]({ ...place, node, amount, checks, ms })
}

const isOfLan = (kind: FaultKind): kind is LanFault => kind in ON_LAN

const ON_LAN: Readonly<Record<LanFault, (wire: Wire, amount: number) => Undo>> = {
  loss: (wire, amount) => wire.change({ ...FAIR, loss: amount }),
  delay: (wire, amount) => wire.change({ ...FAIR, delay: amount }),
  duplicates: (wire, amount) => wire.change({ ...FAIR, twice: amount }),
}

/** Returns a function that starts the daemon again after a while, as a service manager does. */
const again =
  ({ node, time }: Hit): Undo =>
  () =>
    void time.after(STARTS, () => node.start())

const others = ({ node, nodes }: Hit): readonly string[] =>
  nodes.filter((other) => other !== node).map(({ name }) => name)
const all = (hit: Hit): readonly string[] => [...others(hit), hit.witness.name]

const cut = ({ node, wire }: Hit, to: readonly string[], direction: Cut, vrrpOnly = false): Undo =>
  wire.cut(
    to.flatMap((other) => [
      ...(direction === 'in' ? [] : [{ from: node.name, to: other, vrrpOnly }]),
      ...(direction === 'out' ? [] : [{ from: other, to: node.name, vrrpOnly }]),
    ]),
  )

const nothing: Undo = () => {}

function pause({ node }: Hit, isNoticed: boolean): Undo {
  node.stand()
  return () => node.goOn(isNoticed)
}

const ON_NODE: Readonly<Record<Exclude<FaultKind, LanFault>, (hit: Hit) => Undo>> = {
  'crash engine'(hit) {
    hit.node.killEngine()
    return again(hit)
  },
  'crash guardian'(hit) {
    hit.node.killGuardian()
    return again(hit)
  },
  'crash both'(hit) {
    hit.node.killBoth()
    return again(hit)
  },
  'power off'({ node }) {
    node.powerOff()
    return () => node.powerOn()
  },
  stop(hit) {
    hit.node.terminate()
    return again(hit)
  },
  'freeze engine'({ node }) {
    node.freezeEngine()
    return () => node.thawEngine()
  },
  'freeze guardian'(hit) {
    hit.node.freezeGuardian()
    return () => {
      hit.node.thawGuardian()
      // If the engine has stopped during the fault, the service manager starts it again.
      again(hit)()
    }
  },
  'freeze both'({ node }) {
    node.freezeEngine()
    node.freezeGuardian()
    return () => {
      node.thawGuardian()
      node.thawEngine()
    }
  },
  pause: (hit) => pause(hit, false),
  suspend: (hit) => pause(hit, true),
  'link down'({ node }) {
    node.kernel.setCarrier(false)
    return () => node.kernel.setCarrier(true)
  },
  'cut off': (hit) => cut(hit, all(hit), 'both'),
  'routers parted': (hit) => cut(hit, others(hit), 'both'),
  deaf: (hit) => cut(hit, all(hit), 'in'),
  mute: (hit) => cut(hit, all(hit), 'out'),
  'deaf to VRRP': (hit) => cut(hit, all(hit), 'in', true),
  'mute in VRRP': (hit) => cut(hit, all(hit), 'out', true),
  'clock step'({ amount, node }) {
    node.clock.stepWall(amount)
    return nothing
  },
  'service down'({ checks, node }) {
    node.setService(false, checks)
    return () => node.setService(true, checks)
  },
  'VIP deleted'({ node, witness }) {
    for (const present of node.kernel.addresses) if (witness.moments.has(present.address)) node.kernel.remove(present)
    return nothing
  },
  demoted({ amount, node }) {
    const before = node.config
    node.reload({ ...before, virtualRouters: before.virtualRouters.map((one) => ({ ...one, priority: amount })) })
    return () => node.reload(before)
  },
  yield({ ms, node }) {
    node.yield(Math.max(1, ms))
    return nothing
  },
}
