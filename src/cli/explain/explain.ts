/**
 * `holdfast explain`: explains why a VIP moved. The evidence is the event journal of this node and those of its peers,
 * or a recording. This file decides how a peer can be named, how long the command waits for its answer, and that a
 * missing journal causes a note, not a failure. The causes are found in src/explain.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { EXIT } from '../../app/exit-code.ts'
import { messageOf } from '../../base/message-of.ts'
import { parseDuration } from '../../config/schema/duration.ts'
import { unknownRouter } from '../../config/text/spelling.ts'
import type { JournalEvent } from '../../events/event.ts'
import { readJournalFile } from '../../events/journal-file.ts'
import { storyOf } from '../../explain/story.ts'
import { formatStory } from '../../explain/story-text.ts'
import type { NodeJournal } from '../../explain/timeline.ts'
import { askPeer } from '../../http/peers/peer-request.ts'
import type { CommandResult } from '../command.ts'
import { allPages, type EventPlaces, eventPage, eventPath, nodeEvents } from './event-source.ts'
import { momentOf, wrongSince } from './events.ts'
import { configurationOf, type NodeConfiguration } from './explain-configuration.ts'
import type { RecordingReport } from './recorded.ts'

const TIMEOUT = 3_000
/** Timeout in milliseconds for nodes of `api.peers`, which the user has not named. */
const SHORT_TIMEOUT = 1_000

export type ExplainOptions = EventPlaces & {
  readonly router: string | undefined
  /** Start of the reported period; `undefined`: 12 hours ago, or the start of a recording. */
  readonly since: string | undefined
  /** URLs of other nodes' APIs, their run directories, or copies of their journals or recordings. */
  readonly peers: readonly string[]
  /** False: only the nodes in `peers` are asked, not `api.peers` of the configuration. */
  readonly asksPeers?: boolean
  readonly json: boolean
  /** Path of a recording that is used in place of this node's journal; `undefined`: the journal is used. */
  readonly recording?: string | undefined
  /** True if the command only reports whether the replayed engine behaves as recorded (--verify). */
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
  const found = recording === undefined ? configurationOf(own.journal?.events ?? []) : undefined
  const configured = typeof found === 'string' ? undefined : found
  const unnamed = options.asksPeers === false ? [] : (configured?.peers ?? []).filter((url) => !peers.includes(url))
  const asked = [...peers.map((peer) => peerJournal(peer)), ...unnamed.map((url) => peerJournal(url, SHORT_TIMEOUT))]
  const read = [own, ...(await Promise.all(asked))]
  const problems = [...read.flatMap((each) => each.problems), ...(typeof found === 'string' ? [found] : [])]
  const journals = withDistinctNames(withoutDoubles(read.flatMap(({ journal }) => journal ?? [])))
  if (journals.length === 0)
    return {
      exitCode: recording === undefined ? EXIT.unreachable : EXIT.failure,
      stdout: '',
      stderr: problems.map((problem) => `holdfast: ${problem}\n`).join(''),
    }
  const names = namesIn(journals, configured)
  if (router !== undefined && !names.includes(router)) return unknownName(router, names)
  // For an old recording, `--since` is counted back from the end of the recording.
  const end = own.report?.to == null ? now : Date.parse(own.report.to)
  const since = momentOf(wanted, end) ?? Number.NEGATIVE_INFINITY
  const story = storyOf(journals, { router, since, listed: configured?.listed, problems })
  if (json) return success(`${JSON.stringify({ ...story, ...reportsOf(read) }, undefined, 2)}\n`)
  if (wanted === undefined) return success(formatStory(story, 'in this recording', 'at the end of the recording'))
  const isAgo = parseDuration(wanted) !== undefined
  return success(formatStory(story, isAgo ? `in the last ${wanted}` : `since ${wanted}`))
}

/** Returns the names of all routers and sync groups. */
function namesIn(journals: readonly NodeJournal[], configured: NodeConfiguration | undefined): readonly string[] {
  const recorded = journals.flatMap(({ events }) =>
    events.flatMap((event) => [
      ...('router' in event && event.router !== undefined ? [event.router] : []),
      ...(event.kind === 'transition' && event.group !== undefined ? [event.group] : []),
    ]),
  )
  return [...new Set([...(configured?.names ?? []), ...recorded])]
}

function unknownName(router: string, names: readonly string[]): CommandResult {
  return { exitCode: EXIT.usage, stdout: '', stderr: `holdfast: ${unknownRouter(router, names)}\n` }
}

/** Removes the second journal of a node that occurs twice, for example if a peer is this node. */
function withoutDoubles(journals: readonly NodeJournal[]): readonly NodeJournal[] {
  return journals.filter((journal, i) => !journals.slice(0, i).some((before) => isSameNode(before, journal)))
}

/**
 * Tells whether two journals share an event. The number and the times of an event are not enough: two daemons of one
 * machine may start in the same microsecond.
 */
function isSameNode(one: NodeJournal, other: NodeJournal): boolean {
  const known = new Set(one.events.map((event) => JSON.stringify(event)))
  return other.events.some((event) => known.has(JSON.stringify(event)))
}

const success = (stdout: string): CommandResult => ({ exitCode: EXIT.ok, stdout, stderr: '' })

const reportsOf = (read: readonly Read[]): { readonly recordings?: readonly RecordingReport[] } => {
  const recordings = read.flatMap(({ report }) => report ?? [])
  return recordings.length === 0 ? {} : { recordings }
}

/**
 * Returns output and exit status of `holdfast explain --verify`. The exit status is 1 if the engine behaves
 * differently, or the recording cannot be read to its end.
 */
function verified({ problems, report }: Read, json: boolean): CommandResult {
  if (report === undefined)
    return { exitCode: EXIT.failure, stdout: '', stderr: problems.map((problem) => `holdfast: ${problem}\n`).join('') }
  const stdout = json ? `${JSON.stringify(report, undefined, 2)}\n` : problems.map((each) => `${each}\n`).join('')
  return { exitCode: report.matches ? EXIT.ok : EXIT.failure, stdout, stderr: '' }
}

/** Replays a recording. Never rejects; the returned value contains a problem. */
async function recorded(path: string): Promise<Read> {
  try {
    const { readRecording, reportText: reportWords } = await import('./recorded.ts')
    const { journal, report } = await readRecording(path)
    return { journal, report, problems: reportWords(report) }
  } catch (error) {
    return { journal: undefined, problems: [messageOf(error)] }
  }
}

async function ownJournal(places: EventPlaces): Promise<Read> {
  const { events, hostname, now, problems, running, stuck } = await nodeEvents(places)
  if (events.length === 0 && hostname === undefined) return { journal: undefined, problems }
  return { journal: { name: hostname ?? nameIn(events) ?? 'this node', events, running, stuck, now }, problems }
}

async function peerJournal(peer: string, within = TIMEOUT): Promise<Read> {
  try {
    if (/^https?:\/\//.test(peer)) return { journal: await journalOf(peer, within), problems: [] }
    if (statSync(peer).isDirectory())
      return await ownJournal({ socket: join(peer, 'holdfast.sock'), file: join(peer, 'events.jsonl') })
    const { isRecording } = await import('./recorded.ts')
    if (await isRecording(peer)) return await recorded(peer)
    const events = await readJournalFile(peer)
    return { journal: { name: nameIn(events) ?? peer, events }, problems: [] }
  } catch (error) {
    const why = messageOf(error)
    return {
      journal: undefined,
      problems: [
        within < TIMEOUT
          ? `peer ${peer} (api.peers) did not answer: ${why}`
          : `Cannot read the journal of ${peer}: ${why}`,
      ],
    }
  }
}

/**
 * Reads the journal of a peer over HTTP. The peer's clock was read between request and answer, so the quickest answer
 * gives the smallest error.
 */
async function journalOf(peer: string, within: number): Promise<NodeJournal> {
  let clock = { offsetMs: 0, errorMs: Number.POSITIVE_INFINITY }
  const { events, hostname, now } = await allPages(async (after) => {
    const asked = { wall: Date.now(), elapsed: performance.now() }
    const page = eventPage(await askPeer(new URL(eventPath(after), peer), within))
    const roundTrip = performance.now() - asked.elapsed
    // Times in the peer's answer are whole milliseconds, which adds one millisecond to the error.
    const errorMs = roundTrip / 2 + 1
    if (errorMs < clock.errorMs) clock = { offsetMs: Date.parse(page.now.at) - (asked.wall + roundTrip / 2), errorMs }
    return page
  })
  return { name: hostname, events, running: true, clock, now }
}

const nameIn = (events: readonly JournalEvent[]): string | undefined =>
  events.findLast((event) => event.kind === 'started')?.hostname

/** Adds an address to nodes with the same host name, as in a lab. */
function withDistinctNames(journals: readonly NodeJournal[]): readonly NodeJournal[] {
  return journals.map((journal) => {
    const { events, name } = journal
    if (journals.filter((other) => other.name === name).length === 1) return journal
    const selves = events.flatMap((event) => (event.kind === 'transition' ? (event.self ?? []) : []))
    // An IPv4 address is preferred, because link-local addresses are not used as names.
    const self = selves.findLast((address) => !address.includes(':')) ?? selves.at(-1)
    return { ...journal, name: self === undefined ? name : `${name} (${self})` }
  })
}
