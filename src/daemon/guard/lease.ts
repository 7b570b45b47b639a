/**
 * Tells whether the guardian's clock may repeat advertisements (`lease: on`), and the reason if it may not. Without the
 * clock the engine sends each advertisement, as with `lease: off`. This file does not know which router has a clock at
 * present (clock-duty.ts). Pure.
 */
import type { Config } from '../../config/config.ts'
import type { GuardianPort } from '../ports.ts'

/** Priority of an address owner. The guardian has no cleanup plan for the node's own addresses. */
const OWNER = 255

const REASONS = {
  'raw-socket': 'io: raw-socket has no clock',
  noGuardian: 'there is no guardian',
  noSharedMemory: 'the guardian and the engine share no memory',
  noClock: 'the guardian has no clock thread, or the engine no kernel timer',
} as const

export type LeaseSnapshot = {
  /** Value of `lease` in the configuration in force. */
  readonly configured: 'on' | 'off'
  /** True if the guardian repeats the advertisements of Actives at rest. */
  readonly inForce: boolean
  /** Reason for which `lease: on` has no effect; `null` if it has one, or if `lease: off` is configured. */
  readonly reason: keyof typeof REASONS | null
  /** Names of the address owners, for which the engine always advertises; empty if `lease: on` is not in force. */
  readonly owners: readonly string[]
}

export function leaseOf(
  { io, lease, virtualRouters }: Pick<Config, 'io' | 'lease' | 'virtualRouters'>,
  guardian: Pick<GuardianPort, 'armed' | 'clock' | 'guarded'>,
): LeaseSnapshot {
  if (lease === 'off') return { configured: 'off', inForce: false, reason: null, owners: [] }
  if (guardian.clock !== undefined) {
    const owners = virtualRouters.flatMap(({ name, priority }) => (priority === OWNER ? [name] : []))
    return { configured: 'on', inForce: true, reason: null, owners }
  }
  const reason =
    io === 'raw-socket' ? io : guardian.armed ? (guardian.guarded ? 'noClock' : 'noSharedMemory') : 'noGuardian'
  return { configured: 'on', inForce: false, reason, owners: [] }
}

/** Returns the sentence about `lease: on` for people; `undefined` if it has its whole effect, or is not configured. */
export function leaseText({ inForce, owners, reason }: LeaseSnapshot): string | undefined {
  if (reason !== null) return `The engine sends each advertisement although lease: on is configured: ${REASONS[reason]}`
  if (!inForce || owners.length === 0) return undefined
  return `The engine sends each advertisement of ${owners.join(', ')}: lease: on does not apply to an address owner`
}
