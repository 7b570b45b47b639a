/**
 * Addresses on and off interfaces. Decided here: which answers of the kernel mean that things are as asked, so that
 * every step can be repeated (ground rule 6). Refused here: which steps are due (daemon/addresses/reconcile.ts).
 */
import type { AddressOutcome, AddressStep, NameOf } from '../daemon/ports.ts'
import { address } from '../wire/address.ts'
import { ERRNO, failureOf } from './failure.ts'
import { removeAddressRequest, stepRequest } from './netlink/message.ts'
import type { RequestSocket } from './netlink/socket.ts'

const NOBODY = address('::')

/** Adding finds it there; removing finds it gone, or gone with its interface. */
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
 * Asks for the removal of an address that no interface can have. The kernel refuses, but only once it holds the lock under
 * which its work queue completes IPv6 addresses (route and solicited-node group, around its notification).
 */
export function waitForKernel(requests: RequestSocket, interfaceIndex: number): void {
  requests.ask([(sequence) => removeAddressRequest({ interfaceIndex, address: NOBODY, prefixLength: 128 }, sequence)])
}
