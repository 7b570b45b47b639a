/** The shared scenarios' LAN on the virtual clock: real packets, no time. */
import type { Lan, OpenLan } from './lan.ts'
import { VirtualLan } from './virtual-lan.ts'

export const openSimulatedLan: OpenLan = async ({ nodes, interval, peers }) => {
  const lan = new VirtualLan({ nodes, interval: interval / 10, peers })
  const opened: Lan = {
    interval,
    start: async (...names) => {
      for (const name of names) lan.start(name)
    },
    stop: async (name) => lan.shutdown(name),
    kill: async (name) => lan.crash(name),
    cut: async (name) => lan.cut(name),
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
