/**
 * Every fault of the chaos suite, injected into three nodes as in the suite, and the later output of `holdfast explain` on a healthy node.
 * The command reads all three journals, and must print the sentence of test/chaos/sentences.ts. All faults share one lab, because a story
 * must also begin where its fault begins.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { explainCommand } from '../../src/cli/explain/explain.ts'
import type { Story } from '../../src/explain/story.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, type Lab } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { settlesOn, startWitness, type Witness } from '../../src/lab/watch/witness.ts'
import { PRIORITIES } from '../chaos/bounds.ts'
import { ChaosNode, VIPS } from '../chaos/chaos-node.ts'
import { type Arena, addressesOf, inflict, macOf } from '../chaos/faults.ts'
import { type FaultKind, KINDS, NODES } from '../chaos/plan.ts'
import { SENTENCES, type Sentence } from '../chaos/sentences.ts'
import { describeNetns } from '../support/require.ts'

const INTERVAL = 100
const WITHIN = 30_000
/** Time in ms after a loss in which a further lost packet counts as the same event. */
const ONE_PIECE_OF_NEWS = 5_000
/**
 * Faults that come first, while no packet was discarded or lost before. Repeated discards or losses count as one event
 * for 10 s. From the first failover the journals show how the clocks of the nodes differ.
 */
const FIRST: readonly FaultKind[] = ['kill engine', 'packet flood', 'loss 30 %']
const STEADY = 1_500
const SEEN = 500
/** Number of attempts of a fault. On a busy machine the packets of an extra station may come too late to have an effect. */
const TRIES: Partial<Record<FaultKind, number>> = { forged: 3 }

const CASES = [...FIRST, ...KINDS.filter((kind) => !FIRST.includes(kind))].flatMap((kind) =>
  SENTENCES[kind].map((sentence): [string, FaultKind, Sentence] => [
    `${kind}${sentence.variant === '' ? '' : ` (${sentence.variant})`}, ${sentence.ms} ms`,
    kind,
    sentence,
  ]),
)

type Told = { readonly told: Story | undefined; readonly failure?: Error }

const pattern = (says: string): RegExp =>
  new RegExp(says.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*?'))

describeNetns('holdfast explain names the fault of the chaos suite', () => {
  let lab: Lab
  let witness: Witness
  let arena: Arena
  let id = 0
  const nodes: ChaosNode[] = []

  const directory = (name: string) => join(lab.directory, `chaos-${name}`)

  /** Returns the story of r2, with the names of nodes in place of their addresses. */
  async function story(since: number): Promise<Story> {
    const [own, ...peers] = ['r2', 'r1', 'r3'].map(directory)
    const places = { socket: join(own ?? '', 'holdfast.sock'), file: join(own ?? '', 'events.jsonl') }
    const { stdout } = await explainCommand({
      ...{ ...places, peers, json: true, router: undefined, since: new Date(since).toISOString() },
    })
    const named = lab.routers.reduce(
      (text, { address, name }) => text.replaceAll(new RegExp(`[\\w.-]+ \\(${address}\\)`, 'g'), name),
      stdout,
    )
    const read: Story = JSON.parse(named)
    return read
  }

  beforeAll(async () => {
    lab = createLab({ routers: 3, clients: ['client', 'observer', 'outsider'] })
    for (const host of lab.hosts.values()) {
      const [, own6 = ''] = addressesOf(host)
      ip(host, `address add ${own6} dev eth0 nodad`)
      if (lab.routers.includes(host)) ip(host, `link set eth0 address ${macOf(host)}`)
    }
    witness = startWitness(lab, { addresses: VIPS, observer: lab.host('observer'), client: lab.client })
    const node = (position: number): ChaosNode => {
      const host = lab.router(position)
      const priority = PRIORITIES[host.name] ?? 1
      const one = new ChaosNode(lab, host, { daemon: 'holdfast', interval: INTERVAL, priority, realtime: true })
      nodes.push(one)
      return one
    }
    const aborted = new AbortController().signal
    arena = { lab, nodes: { r1: node(1), r2: node(2), r3: node(3) }, aborted, complain: () => {} }
    for (const one of nodes) one.start()
    await settlesOn(witness, 'r1', STEADY, WITHIN)
  })
  afterAll(async () => {
    await witness?.stop()
    for (const one of nodes) one.retire()
    lab?.destroy()
  })

  test('the nodes of the lab are the nodes of the chaos suite', () =>
    expect(lab.routers.map(({ name }) => name)).toEqual(NODES))

  /** Injects the fault and waits until the LAN is as before. Returns the story, and an error if the story lacks the expected sentence. */
  async function suffer(kind: FaultKind, { cause, ms, node, says, variant }: Sentence): Promise<Told> {
    const since = Date.now()
    const { hit } = await inflict({ id: ++id, at: 0, kind, variant, node, ms, overlapping: false }, arena)
    expect(hit, 'whether the fault had a node to hit').toBe(true)
    // A killed process restarts after `ms`, and the witness sees the fault a moment later.
    await sleep(kind.startsWith('kill') ? ms + SEEN : SEEN)
    await settlesOn(witness, 'r1', STEADY, WITHIN)
    // The next log record of the daemon shows that the clock was set.
    if (kind === 'clock step') {
      const reloads = () => readFileSync(join(directory(node), 'events.jsonl'), 'utf8').split('"reloaded"').length
      const before = reloads()
      arena.nodes[node].reload()
      await eventually('a reload in the journal', () => reloads() > before, { sight: reloads, every: 50 })
    }
    let told: Story | undefined
    const sight = () => ({
      notes: told?.problems,
      incidents: told?.incidents.map((each) => `${each.cause}: ${each.headline}`),
    })
    const isTold = async () => {
      told = await story(since)
      if (cause === undefined) return told.problems.some((note) => pattern(says).test(note)) || says === ''
      return told.incidents.some((each) => each.cause === cause && pattern(says).test(each.headline))
    }
    try {
      await eventually(`the story to say: ${says}`, isTold, { sight, within: 5_000, every: 250 })
    } catch (error) {
      return { told, failure: error instanceof Error ? error : new Error(String(error)) }
    }
    return { told }
  }

  test.each(CASES)('explain names the fault %s', { timeout: 180_000 }, async (_, kind, sentence) => {
    const { cause } = sentence
    let again = 0
    let { told, failure } = await suffer(kind, sentence)
    // A wrong story is a failure. Only a fault without any effect is injected again.
    while (failure !== undefined && told?.incidents.length === 0 && ++again < (TRIES[kind] ?? 1)) {
      console.log(`nothing came of it, done again: ${failure}`)
      ;({ told, failure } = await suffer(kind, sentence))
    }
    if (failure !== undefined)
      throw new Error(`${failure.message}${again > 1 ? ` (in the last of ${again} attempts)` : ''}`)
    if (told === undefined) throw new Error('explain printed no story')
    // The story must contain no other fault: an unnamed fault may be a consequence.
    if (cause === undefined)
      expect(
        told.incidents.filter((each) => each.cause !== 'engineAway'),
        'of nothing',
      ).toEqual([])
    for (const incident of told.incidents) {
      expect(incident.noticedBy, incident.headline).toMatch(/^r[123]$/)
      expect(incident.headline, 'headline with a cause that no journal has').not.toMatch(/no journal has the reason/)
      // The journal of the node that took over has the duration.
      if (!/ to r[123]: /.test(incident.headline)) continue
      expect(incident.phases.length, `phases of the takeover in: ${incident.headline}`).toBeGreaterThan(1)
      expect(incident.prevention ?? incident.cause, incident.headline).toMatch(/./)
    }
    if (cause === 'lossy') await sleep(ONE_PIECE_OF_NEWS)
    for (const { by, offsetMs } of told.nodes) {
      expect(by).toMatch(/^(itself|transmissions)$/)
      expect(Math.abs(offsetMs), 'ms between the clocks of two nodes of this machine').toBeLessThan(
        kind === 'clock step' ? 3_700_000 : 100,
      )
    }
  })
})
