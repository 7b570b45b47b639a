/** Builds the LAN of the shared scenarios on a virtual clock: packets are real octets, and no real time passes. */
import type { Lan, OpenLan } from './lan.ts'
import { VirtualLan } from './virtual-lan.ts'
import type { MemberSpec } from './virtual-member.ts'

const both = (reversed: boolean): readonly MemberSpec[] => [
  { name: 'vip', family: 'ipv4', wire: 'lan' },
  { name: 'vip6', family: 'ipv6', wire: 'lan', reversed },
]

export const openSimulatedLan: OpenLan = async ({ bothFamilies = false, nodes, interval, peers, reversed = false }) => {
  const members = bothFamilies ? { members: both(reversed) } : {}
  const lan = new VirtualLan({ nodes, interval: interval / 10, peers, ...members })
  const opened: Lan = {
    interval,
    start: async (...names) => {
      for (const name of names) lan.start(name)
    },
    stop: async (name) => lan.shutdown(name),
    kill: async (name) => lan.crash(name),
    cut: async (name, family) => lan.cut(name, family),
    heal: async (name) => lan.heal(name),
    priority: async (name, value) => lan.setPriority(name, value),
    wait: async (ms) => lan.run(ms),
    active: async () => lan.active,
    answering: async () => lan.holders,
    until: async (active, within) => {
      const wanted = active.join(' ')
      const holds = () => lan.isAll(active)
      return lan.runUntil(`only ${wanted || 'nobody'} Active and answering`, holds, within)
    },
    story: async () => lan.notes.map(({ at, node, text }) => `${at.toFixed(3)} ${node} ${text}`).join('\n'),
    close: async () => {},
  }
  return opened
}
