/**
 * Adds addresses to interfaces and removes them. This file decides which errors of the kernel mean success, so that
 * every request can be repeated (ground rule 6: addresses within 10 ms, or priority 0). Other files decide which
 * addresses to add or remove (daemon/addresses/reconcile.ts).
 */
import type { AddressOutcome, AddressStep, NameOf } from '../daemon/ports.ts'
import { address } from '../wire/address.ts'
import { ERRNO, failureOf } from './failure.ts'
import { removeAddressRequest, stepRequest } from './netlink/message.ts'
import type { RequestSocket } from './netlink/socket.ts'

const UNSPECIFIED = address('::')

/**
 * Errors that mean success: the address to add exists already, or the address to remove does not exist, perhaps because
 * its interface was deleted.
 */
const DONE: Record<AddressStep['action'], readonly number[]> = {
  add: [0, ERRNO.EEXIST],
  remove: [0, ERRNO.EADDRNOTAVAIL, ERRNO.ENODEV],
}

export function applySteps(
  requests: RequestSocket,
  steps: readonly AddressStep[],
  nameOf: NameOf,
): readonly AddressOutcome[] {
  const answers = requests.ask(steps.map((step) => (sequence) => stepRequest(step, sequence)))
  return steps.map((step, i) => {
    const errno = answers[i] ?? ERRNO.ETIMEDOUT
    if (DONE[step.action].includes(errno)) return { step, ok: true, changed: errno === 0 }
    const where = `${step.address}/${step.prefixLength}`
    const name = nameOf(step.interfaceIndex)
    const label = name === undefined ? `interface ${step.interfaceIndex}` : `"${name}"`
    const [action, syscall] =
      step.action === 'add'
        ? [`add ${where} to ${label}`, 'RTM_NEWADDR']
        : [`remove ${where} from ${label}`, 'RTM_DELADDR']
    return { step, ok: false, failure: failureOf(errno, { action, syscall }) }
  })
}

/**
 * Asks the kernel to remove an address that no interface can have, and waits for the refusal. The kernel refuses under
 * the lock of its work queue. Because of this lock, the work queue has completed earlier IPv6 addresses (route and
 * solicited-node group).
 */
export function waitForKernel(requests: RequestSocket, interfaceIndex: number): void {
  requests.ask([
    (sequence) => removeAddressRequest({ interfaceIndex, address: UNSPECIFIED, prefixLength: 128 }, sequence),
  ])
}
