/**
 * Gives the judge the accident of each fault of the chaos suite, and the precision with which a lab on this machine observes. Pure.
 */

import { activeDownIntervalMs, skewTimeMs } from '../../src/lab/daemons/daemon.ts'
import { NOISE } from '../../src/lab/watch/history.ts'
import {
  type Accident,
  boundOf,
  type Circumstances,
  lifetimeOf,
  limit,
  quietOf,
  RESOLVES_AGAIN,
} from '../judge/bounds.ts'
import type { Rules } from '../judge/judge.ts'
import type { Fault, FaultKind } from './plan.ts'

export const PRIORITIES: Readonly<Record<string, number>> = { r1: 200, r2: 150, r3: 100 }
const LAST = 100

/** Longest time of one exchange on a machine with other work, ms (docs/chaos.md). */
export const HANDOVER = 25

export function circumstancesOf(interval: number): Circumstances {
  const down = activeDownIntervalMs(LAST, interval)
  return {
    ...{ interval, down, skew: skewTimeMs(LAST, interval), lifetime: lifetimeOf(down), handover: HANDOVER },
    resolves: RESOLVES_AGAIN,
    misled: limit(RESOLVES_AGAIN + HANDOVER),
    // The group of the bounds has three priorities, few addresses, and a bridge that delays nothing.
    ...{ stagger: 0, lastWord: 0, losers: false, delay: 0, astray: false, givenUp: 0, unheard: false },
    ...{ pacing: 0, unannounced: 0 },
  }
}

const ACCIDENTS: Readonly<Record<FaultKind, Accident | Readonly<Record<string, Accident>>>> = {
  'kill engine': 'engine dies',
  'kill guardian': 'guardian dies',
  'kill group': 'both die',
  'freeze engine': 'engine stops',
  'freeze guardian': 'guardian stops',
  'freeze both': 'both stop',
  'link flap': 'link gone',
  'one way': { 'out all': 'mute', 'out vrrp': 'mute in VRRP', 'in all': 'deaf', 'in vrrp': 'deaf to VRRP' },
  'loss 30 %': 'loss',
  partition: { alone: 'cut off', routers: 'routers parted', 'with client': 'cut off' },
  'VIP deleted': 'address deleted',
  'address to bridge': 'link gone',
  'interface gone': 'link gone',
  'clock step': 'exchange',
  'CPU hogs': 'no CPU',
  'reload storm': 'exchange',
  'packet flood': 'exchange',
  forged: { 'priority 255': 'outranked', 'priority 0': 'exchange', 'lower priority': 'exchange' },
}

export function accidentOf({ kind, variant }: Pick<Fault, 'kind' | 'variant'>): Accident {
  const own = ACCIDENTS[kind]
  const accident = typeof own === 'string' ? own : own[variant]
  if (accident === undefined) throw new Error(`Cannot bound ${kind}: no variant "${variant}"`)
  return accident
}

/** Precision of a lab with a witness, which asks each millisecond. */
export const WATCHED = { dating: 2, joins: NOISE, least: 0 }

export function chaosRules(interval: number): Rules<Fault> {
  const on = circumstancesOf(interval)
  return {
    tolerances: WATCHED,
    boundOf: ({ at, end, fault }) => boundOf(accidentOf(fault), on, end - at),
    quiet: quietOf(on),
    stopped: ({ kind, node }) => (kind === 'freeze engine' || kind === 'freeze both' ? node : undefined),
  }
}
