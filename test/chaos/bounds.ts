/**
 * What each fault may cost a client, and why: the documented bound, not what was measured. Two questions (how long may
 * two answer, how long may nobody), each with the longest time in one piece and how much of it may lie behind the end of
 * the fault. Refuses to know runs and results.
 *
 * Where the words come from: docs/performance.md, Budgets gives the budgets, RFC 9568 §6.1 Skew_Time and Active_Down_Interval (the last
 * in line decides: priority 100), ADR 0015 deadline and lifetime.
 */
import { activeDownIntervalMs, skewTimeMs } from '../../src/lab/daemons/daemon.ts'
import type { Fault } from './plan.ts'

export const PRIORITIES: Readonly<Record<string, number>> = { r1: 200, r2: 150, r3: 100 }
const LAST = 100

/** `forced`: by the protocol as long as the fault lasts; then `length` counts only what lies outside. */
export type Limit = { readonly length: number; readonly after: number; readonly forced?: boolean }
export type Bound = {
  readonly two: Limit
  /** Nobody answers a client without a neighbour entry. */
  readonly none: Limit
  /** A client with one is not answered; absent = as `none`. */
  readonly client?: Limit
  /** How long after its end the fault may still have an effect; then the bounds of a quiet LAN hold. */
  readonly aftermath: number
  readonly why: string
}

/** What every hand-over may take on a machine with other work (docs/performance.md, Budgets, "+ 25 ms"). */
export const HANDOVER = 25

/** RFC 4861 §10 RetransTimer, and the same of Linux for ARP. */
const RESOLVED_AGAIN = 1_000

const same = (length: number): Limit => ({ length, after: length })

/** No fault: one node may hand over to a better one (it advertises, then installs; the other hears, then removes). */
export const QUIET: Bound = {
  two: same(HANDOVER),
  none: same(HANDOVER),
  aftermath: 0,
  why: 'a returned node takes over: one exchange',
}

export function boundOf({ kind, variant, ms }: Fault, interval: number): Bound {
  const skew = skewTimeMs(LAST, interval)
  const down = activeDownIntervalMs(LAST, interval)
  // max(2 s, Active_Down_Interval rounded up), and the kernel's coarse timer (ADR 0015: + 200 ms).
  const lifetime = Math.max(2, Math.ceil(down / 1000)) * 1000 + 200
  const settled = down + HANDOVER
  const one = same(HANDOVER)
  const lost: Limit = { length: settled, after: settled }
  const healed: Limit = { length: interval + HANDOVER, after: interval + HANDOVER }
  const later = (length: number): Limit => ({
    length: Math.max(length, RESOLVED_AGAIN + HANDOVER),
    after: RESOLVED_AGAIN + HANDOVER,
  })
  const forced = (after: number): Limit => ({ length: after, after, forced: true })
  switch (kind) {
    case 'kill engine':
      return {
        two: same(50),
        none: same(skew + HANDOVER),
        aftermath: settled,
        why: 'budget: off ≤ 50 ms by the will, whose priority 0 moves it after Skew_Time + 25 ms',
      }
    case 'kill guardian':
      return {
        two: one,
        none: one,
        aftermath: 2_000,
        why: 'the engine hears of it at once and leaves cleanly (budget: SIGTERM, overlap ≤ 10 ms)',
      }
    case 'kill group':
      return {
        two: same(lifetime),
        none: lost,
        aftermath: lifetime,
        why: 'budget: moved after Active_Down_Interval; gone from the dead node within its lifetime',
      }
    case 'freeze engine':
      return {
        two: same(50),
        none: same(skew + HANDOVER),
        aftermath: settled,
        why: 'budget: overlap ≤ 50 ms: the will at 3 × interval sends priority 0, Skew_Time later it is moved',
      }
    case 'freeze guardian':
      return {
        two: one,
        none: one,
        aftermath: Math.max(0, 2_000 - ms),
        why: 'silent for more than 1 s: the engine leaves cleanly (budget: SIGTERM)',
      }
    case 'freeze both':
      return {
        two: { length: lifetime, after: 50 },
        none: same(skew + HANDOVER),
        aftermath: settled,
        why: 'nobody of the node runs: the kernel lifetime; on resume the will (budget: group dies)',
      }
    case 'link flap':
    case 'interface gone':
      return { two: one, none: lost, aftermath: settled, why: 'no priority 0 can leave: Active_Down_Interval' }
    case 'one way': {
      const why = {
        'out all':
          'as a silent death (budget: node or link gone); healed within one advertisement, but whom the kernel of the node could not ' +
          'resolve meanwhile it asks for again only after 1 s (RFC 4861 RetransTimer)',
        'out vrrp': 'the others hear nobody, clients hear both: forced as long as it lasts',
        'in all': 'it advertises, and hears no client: forced as long as it lasts',
        'in vrrp': 'a deaf Backup is Active beside the other: forced as long as it lasts',
      }[variant]
      return {
        two: variant.endsWith('vrrp') ? forced(healed.after) : healed,
        none: variant === 'in all' ? forced(HANDOVER) : variant === 'out all' ? later(lost.length) : one,
        client:
          variant === 'in all'
            ? forced(healed.after)
            : variant === 'out all'
              ? later(settled)
              : { length: settled, after: HANDOVER },
        aftermath: variant === 'out all' ? Math.max(settled, RESOLVED_AGAIN + HANDOVER) : settled,
        why: why ?? '',
      }
    }
    case 'loss 30 %':
      return {
        // 0.3 ^ 12 < 1e-6: so many advertisements in a row are not lost.
        two: { length: 12 * interval, after: healed.after },
        none: one,
        // The loser's last advertisement may be lost, too; then an announcement that was planned earlier must do.
        client: same(1_000 + HANDOVER),
        aftermath: 1_000 + HANDOVER,
        why: 'three lost in a row make two Actives until one of 12 is heard; IPv6 announces once a second (RFC 4861)',
      }
    case 'partition':
      return {
        two: variant === 'routers' ? forced(healed.after) : healed,
        none: variant === 'routers' ? one : { ...lost, after: HANDOVER },
        aftermath: settled,
        why:
          variant === 'routers'
            ? 'each hears the client and no other router: forced as long as it lasts'
            : 'as a silent death; budget: healed cut, ≤ 3 probes lost; two until the next advertisement',
      }
    case 'VIP deleted':
      return { two: one, none: same(10 + HANDOVER), aftermath: settled, why: 'ground rule 6: back within 10 ms' }
    case 'address to bridge':
      return {
        two: one,
        none: lost,
        aftermath: settled,
        why: 'an interface that is a port hears nothing: a fault, and Active_Down_Interval, there and back',
      }
    case 'clock step':
      return { two: one, none: one, aftermath: settled, why: 'ground rule 2: a stamp after a step is now' }
    case 'CPU hogs':
      return { two: same(50), none: same(50), aftermath: settled, why: 'both sides of a hand-over are late' }
    case 'reload storm':
      return { two: one, none: one, aftermath: settled, why: 'budget: reload 0 lost; a demotion is one hand-over' }
    case 'packet flood':
      return { two: one, none: one, aftermath: settled, why: 'what is discarded changes nothing' }
    case 'forged':
      return variant === 'priority 255'
        ? {
            two: one,
            none: { ...forced(settled), forced: true },
            aftermath: settled,
            why: 'VRRP has no authentication: whoever says 255 is obeyed; then Active_Down_Interval',
          }
        : { two: one, none: one, aftermath: settled, why: 'ignored, or answered at once by the Active' }
  }
}
