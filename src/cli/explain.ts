/**
 * `holdfast explain`: why the address moved, told out of this node's journal and those of the nodes that are named. Decided
 * here: how a peer can be named, how long it is waited for, and that a journal which cannot be had is a note, not a
 * failure. Refuses to judge (explain/).
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { readJournalFile } from '../api/journal-file.ts'
import { askPeer } from '../api/peer-request.ts'
import { storyOf } from '../explain/story.ts'
import { formatStory } from '../explain/story-text.ts'
import type { NodeJournal } from '../explain/timeline.ts'
import type { JournalEvent } from '../journal/event.ts'
import type { CommandResult } from './check.ts'
import { allPages, type EventPlaces, eventPage, eventPath, nodeEvents } from './event-source.ts'
import { momentOf, wrongSince } from './events.ts'
import { EXIT } from './exit-code.ts'

const TIMEOUT = 3_000

export type ExplainOptions = EventPlaces & {
  readonly router: string | undefined
  readonly since: string
  /** URLs of other nodes' APIs, their run directories, or copies of their journals. */
  readonly peers: readonly string[]
  readonly json: boolean
}

type Read = { readonly journal: NodeJournal | undefined; readonly problems: readonly string[] }

export async function explainCommand(options: ExplainOptions, now = Date.now()): Promise<CommandResult> {
  const { json, peers, router } = options
  const since = momentOf(options.since, now)
  if (since === undefined) return wrongSince(options.since)
  const read = await Promise.all([ownJournal(options), ...peers.map(peerJournal)])
  const problems = read.flatMap((each) => each.problems)
  const journals = withDistinctNames(read.flatMap(({ journal }) => journal ?? []))
  if (journals.length === 0)
    return {
      exitCode: EXIT.unreachable,
      stdout: '',
      stderr: problems.map((problem) => `holdfast: ${problem}\n`).join(''),
    }
  if (
    router !== undefined &&
    !journals.some(({ events }) => events.some((event) => 'router' in event && event.router === router))
  )
    problems.push(`No journal has a virtual router called "${router}"`)
  const story = storyOf(journals, { router, since, problems })
  const stdout = json ? `${JSON.stringify(story, undefined, 2)}\n` : formatStory(story, `in the last ${options.since}`)
  return { exitCode: EXIT.ok, stdout, stderr: '' }
}

async function ownJournal(places: EventPlaces): Promise<Read> {
  const { events, hostname, now, problems, running } = await nodeEvents(places)
  if (events.length === 0 && hostname === undefined) return { journal: undefined, problems }
  return { journal: { name: hostname ?? nameIn(events) ?? 'this node', events, running, now }, problems }
}

async function peerJournal(peer: string): Promise<Read> {
  try {
    if (/^https?:\/\//.test(peer)) return { journal: await journalOf(peer), problems: [] }
    if (statSync(peer).isDirectory())
      return await ownJournal({ socket: join(peer, 'holdfast.sock'), file: join(peer, 'events.jsonl') })
    const events = await readJournalFile(peer)
    return { journal: { name: nameIn(events) ?? peer, events }, problems: [] }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { journal: undefined, problems: [`Cannot read the journal of ${peer}: ${why}`] }
  }
}

/** What its clock says is so at some moment between question and answer: the quickest answer says it best. */
async function journalOf(peer: string): Promise<NodeJournal> {
  let clock = { offsetMs: 0, errorMs: Number.POSITIVE_INFINITY }
  const { events, hostname, now } = await allPages(async (after) => {
    const asked = { wall: Date.now(), elapsed: performance.now() }
    const page = eventPage(await askPeer(new URL(eventPath(after), peer), TIMEOUT))
    const roundTrip = performance.now() - asked.elapsed
    // Its moments are whole milliseconds.
    const errorMs = roundTrip / 2 + 1
    if (errorMs < clock.errorMs) clock = { offsetMs: Date.parse(page.now.at) - (asked.wall + roundTrip / 2), errorMs }
    return page
  })
  return { name: hostname, events, running: true, clock, now }
}

const nameIn = (events: readonly JournalEvent[]): string | undefined =>
  events.findLast((event) => event.kind === 'started')?.hostname

/** Two that call themselves the same, as in a lab, are told apart by their addresses. */
function withDistinctNames(journals: readonly NodeJournal[]): readonly NodeJournal[] {
  return journals.map((journal) => {
    const { events, name } = journal
    if (journals.filter((other) => other.name === name).length === 1) return journal
    const selves = events.flatMap((event) => (event.kind === 'transition' ? (event.self ?? []) : []))
    // That people know; a link-local one is nobody's name.
    const self = selves.findLast((address) => !address.includes(':')) ?? selves.at(-1)
    return { ...journal, name: self === undefined ? name : `${name} (${self})` }
  })
}
