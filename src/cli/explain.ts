/**
 * `holdfast explain`: why the address moved, told out of this node's journal and those of the nodes that are named, or out of
 * a recording. Decided here: how a peer can be named, how long it is waited for, and that a journal which cannot be had is a
 * note, not a failure. Refuses to judge (explain/).
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
import type { RecordingReport } from './recorded.ts'

const TIMEOUT = 3_000

export type ExplainOptions = EventPlaces & {
  readonly router: string | undefined
  /** Undefined: 12 hours, or all of a recording. */
  readonly since: string | undefined
  /** URLs of other nodes' APIs, their run directories, or copies of their journals or recordings. */
  readonly peers: readonly string[]
  readonly json: boolean
  /** In the place of this node's journal. */
  readonly recording?: string | undefined
  /** Only whether the engine does again what it did. */
  readonly verify?: boolean
}

const LAST = '12h'

type Read = {
  readonly journal: NodeJournal | undefined
  readonly problems: readonly string[]
  readonly report?: RecordingReport
}

export async function explainCommand(options: ExplainOptions, now = Date.now()): Promise<CommandResult> {
  const { json, peers, recording, router } = options
  const wanted = options.since ?? (recording === undefined ? LAST : undefined)
  if (wanted !== undefined && momentOf(wanted, now) === undefined) return wrongSince(wanted)
  const own = recording === undefined ? await ownJournal(options) : await recorded(recording)
  if (options.verify === true) return verified(own, json)
  const read = [own, ...(await Promise.all(peers.map(peerJournal)))]
  const problems = read.flatMap((each) => each.problems)
  const journals = withDistinctNames(read.flatMap(({ journal }) => journal ?? []))
  if (journals.length === 0)
    return {
      exitCode: recording === undefined ? EXIT.unreachable : EXIT.failure,
      stdout: '',
      stderr: problems.map((problem) => `holdfast: ${problem}\n`).join(''),
    }
  if (
    router !== undefined &&
    !journals.some(({ events }) => events.some((event) => 'router' in event && event.router === router))
  )
    problems.push(`No journal has a virtual router called "${router}"`)
  // What is over for long is told from its end.
  const end = own.report?.to == null ? now : Date.parse(own.report.to)
  const since = momentOf(wanted, end) ?? Number.NEGATIVE_INFINITY
  const story = storyOf(journals, { router, since, problems })
  if (json) return told(`${JSON.stringify({ ...story, ...reportsOf(read) }, undefined, 2)}\n`)
  return told(formatStory(story, wanted === undefined ? 'in this recording' : `in the last ${wanted}`))
}

const told = (stdout: string): CommandResult => ({ exitCode: EXIT.ok, stdout, stderr: '' })

const reportsOf = (read: readonly Read[]): { readonly recordings?: readonly RecordingReport[] } => {
  const recordings = read.flatMap(({ report }) => report ?? [])
  return recordings.length === 0 ? {} : { recordings }
}

/** Exit status 1 when the engine does something else, or the recording cannot be read to its end. */
function verified({ problems, report }: Read, json: boolean): CommandResult {
  if (report === undefined)
    return { exitCode: EXIT.failure, stdout: '', stderr: problems.map((problem) => `holdfast: ${problem}\n`).join('') }
  const stdout = json ? `${JSON.stringify(report, undefined, 2)}\n` : problems.map((each) => `${each}\n`).join('')
  return { exitCode: report.matches ? EXIT.ok : EXIT.failure, stdout, stderr: '' }
}

/** Replayed. Never rejects. */
async function recorded(path: string): Promise<Read> {
  try {
    const { readRecording, reportWords } = await import('./recorded.ts')
    const { journal, report } = await readRecording(path)
    return { journal, report, problems: reportWords(report) }
  } catch (error) {
    return { journal: undefined, problems: [error instanceof Error ? error.message : String(error)] }
  }
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
    const { isRecording } = await import('./recorded.ts')
    if (await isRecording(peer)) return await recorded(peer)
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
