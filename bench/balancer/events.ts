/**
 * The events that a load balancer of the API must survive. Every event acts on a lab with three control plane nodes,
 * and returns the time from which lost requests count. This file decides how long each event needs until its
 * consequences are over. This file does not know how the figures are shown.
 */

import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import type { BalancerLab, BalancerNode } from '../../test/support/balancer-lab.ts'

export const LINE_UPS = ['fast', 'upstream'] as const
export type LineUp = (typeof LINE_UPS)[number]

export type BalancerEvent = {
  readonly name: string
  /** Seconds after which the first lost request has happened, if the event costs any: for each line-up. */
  readonly shows: Readonly<Record<LineUp, number>>
  /** Number of connections that stay open during the event. */
  readonly held?: number
  /** True if VRRP moves the VIP between two nodes that both have a load balancer. */
  readonly isMove?: boolean
  readonly act: (lab: BalancerLab, daemons: readonly Holdfast[]) => Promise<number> | number
}

const HELD = 1_000
const RELOADS = 5
/** Milliseconds for which all API servers are away. */
const AWAY = 5_000

export const EVENTS: readonly BalancerEvent[] = [
  {
    name: 'HAProxy killed (SIGKILL), not started again',
    shows: { fast: 3, upstream: 5 },
    act: (lab) => haproxyOf(lab.node(1)).killFamily(),
  },
  {
    name: 'HAProxy frozen (SIGSTOP)',
    shows: { fast: 3, upstream: 5 },
    act: (lab) => lab.node(1).signalHaproxy('SIGSTOP'),
  },
  {
    name: 'HAProxy ended by SIGTERM, the monitor goes on',
    shows: { fast: 3, upstream: 5 },
    act: (lab) => haproxyOf(lab.node(1)).signal('SIGTERM'),
  },
  {
    name: `${RELOADS} reloads with ${HELD} open connections`,
    shows: { fast: 3, upstream: 3 },
    held: HELD,
    async act(lab) {
      const at = monotonicMs()
      for (let i = 0; i < RELOADS; i++) {
        haproxyOf(lab.node(1)).signal('SIGUSR2')
        await sleep(2_000)
      }
      return at
    },
  },
  {
    name: 'pod stopped: HAProxy and monitor ended by SIGTERM',
    shows: { fast: 4, upstream: 4 },
    act(lab) {
      lab.node(1).monitor?.signal('SIGTERM')
      return haproxyOf(lab.node(1)).signal('SIGTERM')
    },
  },
  {
    name: 'monitor killed (SIGKILL)',
    shows: { fast: 15, upstream: 15 },
    act: (lab) => lab.node(1).monitor?.killFamily() ?? monotonicMs(),
  },
  {
    name: 'API server of another node killed',
    shows: { fast: 5, upstream: 20 },
    act: (lab) => lab.node(2).api?.killFamily() ?? monotonicMs(),
  },
  {
    name: 'another node loses its cable',
    shows: { fast: 6, upstream: 35 },
    act: (lab) => lab.lab.cut(lab.node(2).host),
  },
  {
    name: 'all API servers not ready, but answering',
    shows: { fast: 6, upstream: 25 },
    act(lab) {
      const at = monotonicMs()
      for (const node of lab.nodes) lab.setReady(node, false)
      return at
    },
  },
  {
    name: `all API servers killed, and started ${AWAY / 1_000} s later: from the time at which all listen`,
    shows: { fast: 6, upstream: 10 },
    async act(lab) {
      for (const { api } of lab.nodes) api?.killFamily()
      await sleep(AWAY)
      await Promise.all(lab.nodes.map((node) => node.startApi()))
      return monotonicMs()
    },
  },
  {
    name: 'a node joins and another leaves',
    shows: { fast: 8, upstream: 45 },
    act(lab) {
      const at = monotonicMs()
      lab.cluster.leave('n3')
      lab.cluster.register({ name: 'n4', addresses: [lab.node(3).host.address] })
      return at
    },
  },
  {
    name: 'VIP moves: holdfast of the holder ended by SIGTERM',
    shows: { fast: 3, upstream: 3 },
    isMove: true,
    act: (_, [active]) => active?.process.signal('SIGTERM') ?? monotonicMs(),
  },
  {
    name: 'VIP moves: holder without power, interval 100 ms',
    shows: { fast: 3, upstream: 3 },
    isMove: true,
    act: (lab) => lab.lab.cut(lab.node(1).host),
  },
]

/** Starts VRRP on the first two nodes, and waits until the first one has the VIP. */
export async function startVrrp(lab: BalancerLab): Promise<readonly Holdfast[]> {
  const daemons = [200, 100].map(
    (priority, i) => new Holdfast(lab.lab, { ...VRRP, priority, host: lab.node(i + 1).host }),
  )
  await Promise.all(daemons.map((daemon) => daemon.ready()))
  return daemons
}

const VRRP = { intervalMs: 100, address: LAB_VIP }

function haproxyOf({ haproxy, host }: BalancerNode) {
  if (haproxy === undefined) throw new Error(`HAProxy of ${host.name} was not started`)
  return haproxy
}
