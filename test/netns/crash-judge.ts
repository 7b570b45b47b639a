/**
 * From what the witness, the capture and the kernels saw of one row and one address to a cell of the matrix: figures, and
 * what was not as it had to be. Refuses to know how it was observed. PURE.
 */
import { skewTimeMs } from '../../src/lab/daemons/daemon.ts'
import type { LoggedLine } from '../../src/lab/logged-process.ts'
import { NOISE, type Sight, spans, type WitnessRecord } from '../../src/lab/watch/witness.ts'
import { type Bounds, boundsOf, type Circumstances, type Fault, HANDOVER, PRIORITIES } from './crash-bounds.ts'
import type { Inflicted } from './crash-faults.ts'
import type { AddressNews, Spoken } from './crash-lan.ts'
import type { Column } from './crash-node.ts'

export type Observed = Inflicted &
  Circumstances & {
    readonly fault: Fault
    readonly column: Column
    /** ms of CPUs that the machine did not have meanwhile. */
    readonly stolen: number
    readonly record: WitnessRecord
    readonly spoken: readonly Spoken[]
    readonly news: readonly AddressNews[]
    /** Of the watching; everything had come to rest. */
    readonly until: number
    readonly holders: readonly string[]
    /** r1's log. */
    readonly lines: readonly LoggedLine[]
  }

export type Cell = {
  readonly row: string
  readonly column: string
  /** Of the fault, in one piece; what came after its end, when r1 returned, apart. */
  readonly overlap: number
  readonly absence: number
  readonly returning: { readonly overlap: number; readonly absence: number }
  /** ms after the fault at which r1 did not answer any more. */
  readonly gone: number | undefined
  readonly bounds: Bounds
  readonly pressure: number
  readonly stolen: number
  /** Who answered when, in ms since the fault. */
  readonly story: string
  readonly wrong: readonly string[]
  /** Of these: what no load of a machine can explain. */
  readonly deeds: readonly string[]
}

/** From a decision to the packet that is seen: a deadline counts from the turn in which an advertisement was decided on. */
const SENDING = 10
/** An advertisement under way while the guardian acts. */
const CROSSING = 3

const length = ({ from, to }: { readonly from: number; readonly to: number }): number => to - from
const longest = (sights: readonly Sight[]): number => Math.max(0, ...sights.map(length))
const ms = (value: number): string => `${value.toFixed(1)} ms`

export function judge(observed: Observed): Cell {
  const { at, column, end, fault, holders, record, until } = observed
  const bounds = boundsOf({ ...fault, ms: end - at }, column.interval, observed)
  const within = (sights: readonly Sight[]) =>
    sights
      .filter((sight) => sight.to > at && sight.from < until)
      .map((sight) => ({ ...sight, from: Math.max(sight.from, at), to: Math.min(sight.to, until) }))
  const owners = within(record.owners)
  const two = spans(owners, (count) => count > 1).filter((sight) => length(sight) >= NOISE)
  const none = merged([...spans(owners, (count) => count === 0), ...within(record.unanswered)]).filter(
    (sight) => length(sight) >= NOISE,
  )
  const wrong: string[] = []
  const story = storyOf(owners, at)

  // A node that comes back hands over in its own time.
  const own = ({ from }: Sight) => from < end + HANDOVER || bounds.owner !== 'r1'
  const check = (what: string, sights: readonly Sight[], bound: number) => {
    for (const sight of sights) {
      const allowed = Math.max(NOISE, own(sight) ? bound : HANDOVER)
      if (length(sight) <= allowed) continue
      const when = `${(sight.from - at).toFixed(0)} ms after the fault${own(sight) ? '' : ', when r1 came back'}`
      wrong.push(`expected ${what} for at most ${ms(allowed)}, saw ${ms(length(sight))} from ${when}`)
    }
  }
  check('two answering', two, bounds.overlap)
  check('nobody answering', none, bounds.absence)

  const gone = goneAfter(owners, bounds, at)
  if (bounds.gone !== undefined && (gone === undefined || gone > bounds.gone + NOISE))
    wrong.push(
      `expected r1 without the address ${ms(bounds.gone)} after the fault, saw ${gone === undefined ? 'it stay' : ms(gone)}`,
    )
  const last = owners.at(-1)
  if (last === undefined || last.owners.join() !== bounds.owner)
    wrong.push(`expected ${bounds.owner || 'nobody'} in the end, saw ${last?.owners.join() || 'nobody'}`)
  else if (last.from > end + bounds.settled + HANDOVER)
    wrong.push(
      `expected ${bounds.owner || 'nobody'} ${ms(bounds.settled + HANDOVER)} after the fault's end, saw it after ${ms(last.from - end)}`,
    )
  if (holders.join() !== bounds.owner)
    wrong.push(`expected the address in the kernel of ${bounds.owner || 'nobody'}, saw ${holders.join() || 'none'}`)
  const deeds = wrongDeeds(observed, bounds)
  wrong.push(...deeds.map(({ text }) => text))
  const late = lateness(observed).map((one) => `(${one})`)
  return {
    row: fault.name,
    column: column.name,
    overlap: longest(two.filter(own)),
    absence: longest(none.filter(own)),
    returning: {
      overlap: longest(two.filter((sight) => !own(sight))),
      absence: longest(none.filter((sight) => !own(sight))),
    },
    gone,
    bounds,
    pressure: observed.pressure,
    stolen: observed.stolen,
    story,
    deeds: deeds.filter(({ late }) => !late).map(({ text }) => text),
    wrong: wrong.length === 0 ? [] : [...wrong, `who answered: ${story}`, ...late, ...said(observed)],
  }
}

/** By ARP or by UDP: both tell of the same time. */
function merged(sights: readonly Sight[]): Sight[] {
  const found: Sight[] = []
  for (const sight of [...sights].sort((one, other) => one.from - other.from)) {
    const last = found.at(-1)
    if (last !== undefined && sight.from - last.to < NOISE)
      found[found.length - 1] = { ...last, to: Math.max(last.to, sight.to) }
    else found.push(sight)
  }
  return found
}

/** What r1 says of it, for whoever has to find out why. */
function said({ at, lines, until }: Observed): string[] {
  return lines.flatMap(({ at: moment, text }) => {
    if (moment < at || moment > until) return []
    const [, words = text] = /"msg":"((?:[^"\\]|\\.)*)"/.exec(text) ?? []
    return [`r1 after ${(moment - at).toFixed(0)} ms: ${words}`]
  })
}

function storyOf(owners: readonly Sight[], at: number): string {
  const lasting = owners.filter((sight) => length(sight) >= 1)
  return lasting.map((one) => `${one.owners.join('+') || 'nobody'} from ${(one.from - at).toFixed(0)}`).join(', ')
}

function goneAfter(owners: readonly Sight[], bounds: Bounds, at: number): number | undefined {
  const has = ({ owners: names }: Sight) => names.includes('r1')
  if (bounds.owner !== 'r1') {
    const last = owners.findLast(has)
    return last === owners.at(-1) ? undefined : (last?.to ?? at) - at
  }
  const first = owners.find((sight) => !has(sight) && length(sight) >= NOISE)
  return first === undefined ? undefined : first.from - at
}

/** `late`: the node had been silent for three intervals by itself, and its guardian was right. */
type Deed = { readonly text: string; readonly late: boolean }

/** What no net may do: act for an engine that was on time, speak for one that was away, take from a healthy node. */
function wrongDeeds({ at, column, end, fault, news, record, spoken, until }: Observed, bounds: Bounds): Deed[] {
  const { vip } = column
  const deadline = 3 * column.interval
  const grace = skewTimeMs(PRIORITIES[0], column.interval)
  const words = spoken.filter((one) => one.vrid === column.vrid && one.v6 === vip.includes(':') && one.at < until)
  const saidBefore = (node: string, moment: number): number =>
    words.findLast((one) => one.node === node && one.priority > 0 && one.at < moment)?.at ?? Number.NaN
  const ageOf = (node: string, moment: number): number => moment - saidBefore(node, moment)
  const wasLate = (node: string, moment: number): boolean => {
    if (ageOf(node, moment) >= deadline - SENDING) return true
    // What it sent when it ran again at its deadline and the guardian's deed have crossed.
    return ageOf(node, moment) <= CROSSING && ageOf(node, saidBefore(node, moment)) >= deadline - SENDING
  }
  const since = (moment: number) => `${(moment - at).toFixed(1)} ms after the fault`
  const deeds: Deed[] = []

  for (const word of words) {
    if (word.at < at || word.priority !== 0) continue
    const age = ageOf(word.node, word.at)
    const late = wasLate(word.node, word.at)
    const said = `saw ${word.node} send priority 0 ${since(word.at)}, ${ms(age)} after its last advertisement`
    const add = (expected: string, excuse = false) =>
      deeds.push({ text: `expected ${expected}, ${said}`, late: excuse })
    if (word.node !== 'r1') add('no priority 0 of a node that nothing was done to', late)
    else if (bounds.stays) add('no priority 0', late)
    else if (fault.engine === 'dies' && fault.guardian === 'dies') add('no priority 0 where nobody is left to send it')
    else if (fault.engine === 'stops' && !late) add(`nothing executed within ${deadline} ms after an advertisement`)
    else if (fault.engine === 'stops' && word.at > end && age > deadline + grace + SENDING)
      add('no priority 0 of a node that was away')
  }
  if (bounds.stays && news.some((one) => one.gone && one.at > at && one.at < until && one.text.includes(` ${vip}/`)))
    deeds.push({
      text: 'expected the address to stay, saw a kernel that took it off',
      late: deeds.some((one) => one.late),
    })
  // Dated by who answers: ip(8) says when it has read of a removal, which may be much later.
  for (const { node, moment } of lossesOf(record, at, until)) {
    const age = ageOf(node, moment)
    const late = wasLate(node, moment)
    const said = `saw ${node} without it ${since(moment)}, ${ms(age)} after its last advertisement`
    if (node === 'r1' && fault.engine === 'stops' && !late)
      deeds.push({ text: `expected nothing executed within ${deadline} ms after an advertisement, ${said}`, late })
    // Names are in the order of the priorities.
    const better = words.some((one) => one.node < node && one.priority > 0 && one.at < moment && moment - one.at < 50)
    if (node !== 'r1' && !better) deeds.push({ text: `expected a healthy node to keep the address, ${said}`, late })
  }
  return deeds
}

/** When a node that had answered answered no more. */
function lossesOf({ owners }: WitnessRecord, at: number, until: number) {
  const lasting = owners.filter((sight) => length(sight) >= NOISE && sight.to > at && sight.from < until)
  return lasting.flatMap((sight, i) =>
    sight.owners
      .filter((node) => lasting[i + 1]?.owners.includes(node) === false)
      .map((node) => ({ node, moment: sight.to })),
  )
}

/** Actives that did not advertise for three intervals although nothing was done to them. */
export function lateness({ at, column, end, spoken, until }: Observed): string[] {
  const words = spoken.filter(
    (one) =>
      one.vrid === column.vrid &&
      one.v6 === column.vip.includes(':') &&
      one.at > at - 3 * column.interval &&
      one.at < until,
  )
  return words.flatMap((word, i) => {
    const next = words[i + 1]
    if (next === undefined || next.node !== word.node || word.priority === 0 || next.at - word.at < 3 * column.interval)
      return []
    if (word.node === 'r1' && word.at <= end && next.at >= at) return []
    return [`${word.node} was silent by itself for ${ms(next.at - word.at)} from ${(word.at - at).toFixed(0)} ms on`]
  })
}
