/**
 * Links and addresses, assembled: what is there, what to change, and what changed. Decided here: the order of events
 * (also when a delivery asks for more of them) and what happens when the kernel gives no complete list. Refused here:
 * which interface or address matters.
 */
import type { NetworkEvent, NetworkPort } from '../daemon/ports.ts'
import { applySteps, waitForKernel } from './addresses.ts'
import type { KernelClock } from './clock.ts'
import type { NativeAddon } from './native.ts'
import type { NetlinkMessage } from './netlink/message.ts'
import { openMonitorSocket, openRequestSocket } from './netlink/socket.ts'
import { PromoteSecondaries, readPromoteSecondaries } from './promote-secondaries.ts'
import { readAddresses, readLinks } from './tables.ts'

const LOOK_AGAIN_MS = 100

function eventOf(message: NetlinkMessage): NetworkEvent | undefined {
  switch (message.kind) {
    case 'link':
    case 'linkGone':
      return message
    case 'address':
      return { kind: 'addressAdded', present: message.present }
    case 'addressGone':
      return { kind: 'addressRemoved', present: message.present }
    default:
      return undefined
  }
}

/** Throws the addon's Error when rtnetlink cannot be opened at all; afterwards nothing throws. */
export function openNetwork(
  native: NativeAddon,
  clock: KernelClock,
  onProblem: (message: string) => void = () => {},
): NetworkPort {
  // First the monitor: every change from now on is either in a list or in its queue.
  const monitor = openMonitorSocket(native)
  const requests = openRequestSocket(native, clock)
  const secondaries = new PromoteSecondaries({
    ask: (wanted) => requests.ask(wanted),
    read: readPromoteSecondaries,
    onProblem,
  })
  const pending: NetworkEvent[] = []
  let deliver: ((event: NetworkEvent) => void) | undefined
  let lookAgain: NodeJS.Timeout | undefined

  /** A delivery may drain again: what it brings comes behind what is still waiting. */
  function drain(): void {
    if (deliver === undefined) return
    const { messages, lost } = monitor.take()
    for (const message of messages) {
      const event = eventOf(message)
      if (event !== undefined) pending.push(event)
    }
    if (lost) pending.push({ kind: 'resync' })
    for (let event = pending.shift(); event !== undefined; event = pending.shift()) deliver(event)
  }

  /** The table kept changing under every dump: another look soon. */
  function lookAgainUnless<T>(list: T | undefined): T | undefined {
    if (list === undefined) {
      lookAgain ??= setTimeout(() => {
        lookAgain = undefined
        pending.push({ kind: 'resync' })
        drain()
      }, LOOK_AGAIN_MS)
    }
    return list
  }

  return {
    links: () => lookAgainUnless(readLinks(requests)),
    addresses: () => lookAgainUnless(readAddresses(requests)),
    apply(steps, nameOf) {
      for (const step of steps) secondaries.prepare(step, nameOf)
      return applySteps(requests, steps, nameOf)
    },
    settle: (interfaceIndex) => waitForKernel(requests, interfaceIndex),
    watch(next) {
      deliver = next
      drain()
      monitor.start(drain)
    },
    drain,
    close() {
      deliver = undefined
      secondaries.restore()
      clearTimeout(lookAgain)
      monitor.close()
      requests.close()
    },
  }
}
