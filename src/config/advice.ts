/**
 * What works but will surprise: the warnings of `holdfast check` about one router. Nothing here keeps a configuration
 * from being used. This file knows neither the other routers nor the node.
 */

import { staggerStep } from '../vrrp/timers.ts'
import { centis } from '../wire/units.ts'
import type { VirtualRouter } from './config.ts'
import { formatDuration } from './duration.ts'
import { routerKnobs } from './knobs.ts'
import { type Locate, type Path, type Problem, problemAt } from './problem.ts'

/** Below this a scheduler that is busy elsewhere can look like a dead Active. */
const REALTIME_BELOW = 100

export function advice(router: VirtualRouter, path: Path, locate: Locate): Problem[] {
  const problems: Problem[] = []
  const warn = (key: string, message: string) => problems.push(problemAt(locate, [...path, key], 'warning', message))
  const owner = router.priority === 255

  if (owner && !router.preempt)
    warn('preempt', `"preempt: false" has no effect on "${router.name}": an address owner always preempts`)
  if (owner && router.track.some(({ weight }) => weight !== 0))
    warn('track', `Weights have no effect on "${router.name}": the priority of an address owner is always 255`)
  if (!router.preempt && router.preemptDelay > 0)
    warn('preemptDelay', `"preemptDelay" has no effect on "${router.name}" with preempt: false`)
  if (router.track.some((tracker) => tracker.interface === router.interface))
    warn(
      'track',
      `"${router.name}" need not track "${router.interface}": it is in fault without its own interface anyway`,
    )
  if (router.advertisementInterval < REALTIME_BELOW)
    warn(
      'advertisementInterval',
      `An interval of ${formatDuration(router.advertisementInterval)} asks for real-time priority: ` +
        'on a busy node ordinary scheduling may let a Backup take over from a living Active',
    )
  if (router.transport !== 'multicast') {
    const { peers } = router.transport.unicast
    if (peers.length === 0 && router.profile !== 'rfc9568')
      warn(
        'transport',
        router.profile === 'keepalived'
          ? `"${router.name}" has no unicast peers and will use multicast, as keepalived does`
          : `"${router.name}" has no unicast peers: it will be alone and become Active`,
      )
    if (peers.length > 0 && router.ttlCheck === undefined && !routerKnobs(router).ttlCheck)
      warn(
        'transport',
        `"${router.name}" accepts unicast advertisements from beyond the LAN: set "ttlCheck: true" when all peers are ` +
          'holdfast or send TTL 255, or false to say that this is wanted',
      )
  }
  problems.push(...staggerAdvice(router, path, locate))
  return problems
}

/** Stagger is meant for equals; it must not make up for the Skew_Time by which a better router comes first. */
function staggerAdvice(router: VirtualRouter, path: Path, locate: Locate): Problem[] {
  if (!routerKnobs(router).stagger || !router.preempt || router.priority === 255) return []
  if (router.transport === 'multicast' && router.peers === undefined)
    return [
      problemAt(
        locate,
        path,
        'warning',
        `"${router.name}" does not know its peers: routers of equal priority may become Active together for a moment; ` +
          'list them as "peers", or set "stagger: false" when no priorities are equal',
      ),
    ]
  const peers = router.transport === 'multicast' ? (router.peers ?? []) : router.transport.unicast.peers
  // The Active that fell silent is one of the peers and does not count.
  const rank = peers.length - 1
  if (rank < 1 || peers.some(({ priority }) => priority !== undefined)) return []
  const interval = router.advertisementInterval
  const closer = Math.ceil((rank * staggerStep(centis(interval / 10), peers.length) * 256) / interval)
  if (closer <= 1) return []
  const at: Path = router.transport === 'multicast' ? [...path, 'peers'] : [...path, 'transport', 'unicast', 'peers']
  return [
    problemAt(
      locate,
      at,
      'warning',
      `"${router.name}" may move twice when priorities differ by less than ${closer}: ` +
        'give each peer its priority, as in { address: 10.0.0.11, priority: 90 }',
    ),
  ]
}
