/**
 * `holdfast status`: asks the running daemon over its unix socket and tells it in lines a person can read at night.
 * With --json the answer is passed on as it came.
 */
import { formatProblem } from '../config/problem.ts'
import { strangeWords } from '../daemon/foreign-peers.ts'
import type {
  ConfigSnapshot,
  DuplicateSnapshot,
  HeldBack,
  ImportedSnapshot,
  ManagedSnapshot,
  RouterSnapshot,
  Snapshot,
  StrangerSnapshot,
} from '../daemon/snapshot.ts'
import type { CommandResult } from './check.ts'
import { ask, unreachable } from './control-client.ts'
import { EXIT } from './exit-code.ts'
import { formatHealthchecks, prioritySum } from './status-healthcheck.ts'
import { formatNotifications, formatWebhook } from './status-notify.ts'

const TIMEOUT = 3_000

export async function statusCommand(socket: string, options: { json: boolean }): Promise<CommandResult> {
  try {
    const { status, body } = await ask(socket, { path: '/v1/status', within: TIMEOUT })
    if (status !== 200) throw new Error(`it answered ${status}: ${body.trim()}`)
    if (options.json) return { exitCode: EXIT.ok, stdout: body, stderr: '' }
    const snapshot: Snapshot = JSON.parse(body)
    return { exitCode: EXIT.ok, stdout: formatStatus(snapshot), stderr: '' }
  } catch (error) {
    return unreachable(socket, error)
  }
}

/** Who stands behind the engine, where that is worth a word. */
const behind: Readonly<Record<Snapshot['guardian'], string>> = {
  none: ', NO GUARDIAN: a crash leaves VIPs behind',
  armed: ', guarded against a crash alone',
  guarded: '',
}

export function formatStatus(snapshot: Snapshot): string {
  const { hostname, pid, guardian, startedAt, config, routers, keepalivedBeside, controlRefused, scheduling } = snapshot
  const head = `holdfast on ${hostname}, pid ${pid}, since ${startedAt}${behind[guardian]}${preferred(scheduling)}`
  const around = keepalivedBeside.map(
    (process) => `BESIDE KEEPALIVED (pid ${process.pid}), which spoke VRRP here when holdfast was started with --force`,
  )
  if (controlRefused > 0)
    around.push(`REFUSED at the control socket, neither root nor the daemon's user: ${times(controlRefused)}`)
  around.push(...formatJournal(snapshot.journal))
  const now = Date.parse(snapshot.takenAt)
  const checks = [
    ...formatHealthchecks(snapshot.healthchecks, now),
    ...formatNotifications(snapshot.notifications, now),
    ...formatWebhook(snapshot.webhook),
  ]
  return `${[head, ...around, ...formatConfig(config), ...routers.flatMap(formatRouter), ...checks].join('\n')}\n`
}

/** Absent in a daemon of an earlier version; that it is kept is worth no line. */
function formatJournal(journal: Snapshot['journal'] | undefined): string[] {
  if (journal == null || (journal.problem === null && journal.lost === 0)) return []
  const { file, lost, problem } = journal
  const now = problem === null ? 'is kept again' : `CANNOT BE KEPT: ${problem}`
  return [`journal ${file}: ${now}, ${lost === 1 ? '1 event is' : `${lost} events are`} not in it`]
}

/** Absent in a daemon of an earlier version. */
function preferred(scheduling: Snapshot['scheduling'] | undefined): string {
  if (scheduling == null) return ''
  const { policy, priority, realtimeAsked } = scheduling
  if (policy === 'SCHED_RR' || policy === 'SCHED_FIFO') return `, real-time priority ${priority}`
  return realtimeAsked ? ', WITHOUT THE REAL-TIME PRIORITY it was asked for' : ''
}

function formatConfig({ file, hash, loadedAt, lastReload, imported, stoppedAt, managed }: ConfigSnapshot): string[] {
  const lines = file === null ? [] : [`configuration: ${file}, ${hash ?? 'nothing'}, loaded ${loadedAt}`]
  // Absent in a daemon of an earlier version.
  if (managed != null) lines.push(...formatManaged(managed))
  if (imported !== null) lines.push(`  keepalived's file: ${importedWords(imported)} (holdfast convert tells which)`)
  if (stoppedAt !== null) lines.push(`STOPPED at ${stoppedAt} over keepalived's socket: nothing runs until a reload`)
  if (lastReload?.ok !== false) return lines
  const what = managed == null ? 'RELOAD' : 'RELOAD OR HAND-OVER'
  lines.push(`LAST ${what} FAILED at ${lastReload.at}, the configuration in force was kept: ${lastReload.reason}`)
  return [...lines, ...lastReload.problems.map((problem) => `  ${formatProblem(problem)}`)]
}

function formatManaged({ handedOver, notKept, waits }: ManagedSnapshot): string[] {
  const lines = [`  managed: ${handedOver === null ? 'as remembered, nobody has handed it over since the start' : ''}`]
  if (handedOver !== null) {
    const revision = handedOver.revision === null ? '' : `, revision ${handedOver.revision}`
    lines[0] = `  managed: handed over by ${handedOver.by ?? 'somebody'}${revision} at ${handedOver.at}`
  }
  if (waits !== null) lines[0] = `  managed: IDLE until a configuration is handed over: ${waits}`
  if (notKept !== null) lines.push(`  NOT KEPT, a restart would lose it: ${notKept}`)
  return lines
}

function importedWords({ carried, withoutEffect, notSupported, refused, unknown }: ImportedSnapshot): string {
  const rest = [
    [withoutEffect, 'without effect'],
    [notSupported, 'NOT SUPPORTED'],
    [refused, 'REFUSED'],
    [unknown, 'UNKNOWN'],
  ] as const
  const told = rest.flatMap(([count, words]) => (count === 0 ? [] : [`${count} ${words}`]))
  return [`${carried} keywords carried over`, ...told].join(', ')
}

function formatRouter(router: RouterSnapshot): string[] {
  const { name, state, reason, since, vrid, faults, addresses, strangers, counters, owner } = router
  const lines = [
    '',
    `${name}: ${state} since ${since} (${reason})`,
    `  vrid ${vrid} on ${router.interface ?? 'no interface'}${holdingWords(router)}, IPv${router.family.slice(-1)}, VRRPv${router.version}, ${router.transport}`,
    `  priority ${prioritySum(router)}, every ${router.advertisementIntervalMs} ms`,
    `  owner: ${ownerWords(router)}`,
    `  addresses: ${addresses.map(({ address, present }) => `${address} ${present ? '(here)' : '(not here)'}`).join(', ')}`,
  ]
  // Absent in a daemon of an earlier version.
  if (router.holding?.problem != null) lines.push(`  CANNOT FOLLOW ITS ADDRESS: ${router.holding.problem}`)
  if (router.departing) lines.push('  NO LONGER CONFIGURED: on its way out')
  if (router.group !== null) lines.push(`  moves with its sync group ${router.group}`)
  if (router.yieldingUntil !== null) lines.push(`  YIELDS until ${router.yieldingUntil}`)
  if (faults.length > 0) lines.push(`  FAULT: ${faults.join(', ')}`)
  if (router.configuredFault !== null) lines.push(`  BY ITS CONFIGURATION: ${router.configuredFault}`)
  // Absent in a daemon of an earlier version.
  if (router.heldBack != null) lines.push(`  LEAVES IT to priority ${owner.priority}: ${HELD_BACK[router.heldBack]}`)
  for (const [deadline, ms] of Object.entries(router.deadlines))
    lines.push(`  ${deadline.replace(/InMs$/, '')} in ${ms} ms`)
  const discarded = Object.entries(counters.discarded).map(([key, count]) => `${key} ${count}`)
  const sent = Object.values(counters.sent).reduce((sum, count) => sum + count, 0)
  lines.push(
    `  advertisements: ${sent} sent, ${counters.received} received, ${discarded.length === 0 ? 'none discarded' : `discarded: ${discarded.join(', ')}`}`,
  )
  for (const stranger of strangers) lines.push(strangerLine(stranger, router.version))
  for (const duplicate of router.duplicates) lines.push(duplicateLine(duplicate))
  for (const [code, count] of Object.entries(counters.sendFailures))
    lines.push(`  SEND FAILURES: ${code}, ${times(count)} since the start; the log has the destination`)
  if (counters.rivalAnswers > 0)
    lines.push(`  RIVAL: another host answers for it: ${times(counters.rivalAnswers)} since the start`)
  return lines
}

function holdingWords({ holding, interface: on }: RouterSnapshot): string {
  if (holding?.address == null || on === null) return ''
  return `, which has ${holding.address}${holding.file === null ? '' : ` of ${holding.file}`}`
}

const HELD_BACK: Readonly<Record<HeldBack, string>> = {
  preempt: 'preempt is false, so it takes it when that one lets go',
  preemptDelay: 'preemptDelay has to be over first',
  margin: 'margin wants a greater difference',
}

const packets = (count: number) => (count === 1 ? '1 packet' : `${count} packets`)
const times = (count: number) => (count === 1 ? 'once' : `${count} times`)

function strangerLine(stranger: StrangerSnapshot, version: number): string {
  const { address, count, lastHeardMsAgo, listenedTo, reason } = stranger
  const effect = listenedTo ? 'listened to all the same' : 'not listened to'
  const words = strangeWords(reason, stranger.version, version)
  return `  STRANGER: ${address} ${words} (${reason}): ${effect}, ${packets(count)}, the last ${lastHeardMsAgo} ms ago`
}

function duplicateLine({ address, foundMsAgo, mac, router }: DuplicateSnapshot): string {
  const who =
    router === null ? 'no VRRP heard from it' : `router ${router.address}, priority ${router.priority ?? 'unheard'}`
  return `  DUPLICATE OWNER: ${mac} (${who}) has ${address} as well, for ${foundMsAgo} ms`
}

function ownerWords({ owner, strangers }: RouterSnapshot): string {
  const { self, address, priority, heardMsAgo } = owner
  if (self) return `this node (${address}, priority ${priority})`
  if (address === null)
    return strangers.some(({ listenedTo }) => !listenedTo)
      ? 'unknown: only strangers have been heard'
      : 'unknown: nobody has been heard'
  return `${address}, priority ${priority}, heard ${heardMsAgo} ms ago`
}
