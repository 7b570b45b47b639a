/**
 * Measures the CPU and memory cost of an idle group of nodes: the group is started, left alone until V8's compilers
 * have finished, then measured. This file decides that a cell cannot be measured if its group never reached the wanted
 * state or did not keep it. This file does not throw an error that a cell can record.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '../../src/base/message-of.ts'
import { createLab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { loadAverage, pressureNow, pressureSince } from '../failover/pressure.ts'
import { FleetNode } from './fleet.ts'
import { ProcessAccount } from './process-account.ts'
import type { Cell, CellResult, NodeCost } from './result.ts'
import { changesIn, type Sight, troubleIn } from './sight.ts'

export type Span = { readonly warmUp: number; readonly seconds: number }

const sights = (nodes: readonly FleetNode[]): Promise<readonly Sight[]> =>
  Promise.all(nodes.map((node) => node.sight()))

const NOTHING: Sight = new Map()
/** Returns what is wrong with the states of a group's routers; an empty text if nothing is wrong. */
function troubleOf(nodes: readonly FleetNode[], { routers }: Cell, now: readonly Sight[], before = now, seconds = 0) {
  const each = nodes.map(({ role }, i) => troubleIn(role, routers, now[i] ?? NOTHING, before[i] ?? NOTHING, seconds))
  return each.filter((text) => text !== undefined).join('; ')
}

async function settled(nodes: readonly FleetNode[], cell: Cell): Promise<string> {
  let trouble = ''
  const look = async () => {
    trouble = troubleOf(nodes, cell, await sights(nodes))
    const dead = nodes.find((node) => node.ended)
    if (dead !== undefined) throw new Error(`the ${dead.role} ended: ${dead.lastWords.join(' / ')}`)
    return trouble === ''
  }
  try {
    await eventually('the group as it should be', look, {
      sight: () => trouble,
      within: 30_000 + 8 * cell.intervalMs,
      every: 250,
    })
    return ''
  } catch (error) {
    if (trouble === '' || nodes.some((node) => node.ended)) throw error
    return trouble
  }
}

/**
 * Measures the cost of the group in whatever state the group is, because the cost of an unstable group is a figure too.
 */
async function count(nodes: readonly FleetNode[], cell: Cell, { warmUp, seconds }: Span) {
  const unsettled = await settled(nodes, cell)
  const accounts = nodes.map(({ pid }) => new ProcessAccount(pid))
  try {
    await wait(warmUp * 1_000)
    const before = await sights(nodes)
    const pressure = pressureNow()
    const from = accounts.map((account) => ({ cpu: account.cpuSeconds(), at: monotonicMs() }))
    await wait(seconds * 1_000)
    const nodesCost = nodes.map(({ role }, i): NodeCost => {
      const [account, start] = [accounts[i], from[i]]
      if (account === undefined || start === undefined) throw new Error('a node without an account')
      const cpuPerMinute = ((account.cpuSeconds() - start.cpu) * 60_000) / (monotonicMs() - start.at)
      return { role, cpuPerMinute, processes: account.memory() }
    })
    const weather = { pressure: pressureSince(pressure), load: loadAverage() }
    const after = await sights(nodes)
    const trouble = [unsettled, troubleOf(nodes, cell, after, before, seconds)].find((text) => text !== '')
    const changes = after.map((sight, i) => changesIn(sight) - changesIn(before[i] ?? NOTHING))
    return {
      ...{ nodesCost, ...weather, counted: accounts[0]?.counted ?? 'stat' },
      changes: changes.reduce((sum, one) => sum + one, 0),
      ...(trouble === undefined ? {} : { trouble }),
    }
  } finally {
    await Promise.all(nodes.map((node) => node.end()))
    for (const account of accounts) account.close()
  }
}

export async function idleCost(cell: Cell, span: Span): Promise<CellResult> {
  const at = new Date().toISOString()
  const lab = createLab({ routers: cell.nodes, clients: [] })
  try {
    const nodes = lab.routers.map((_, i) => new FleetNode(lab, cell, i + 1))
    return { ...cell, at, ...(await count(nodes, cell, span)) }
  } catch (error) {
    return { ...cell, at, nodesCost: [], trouble: messageOf(error) }
  } finally {
    lab.destroy()
  }
}
