/**
 * `holdfast status`: asks the running daemon over its unix socket, and prints a sentence for each VIP, then the
 * details. With --json the command prints the daemon's answer unchanged.
 */

import { EXIT } from '../../app/exit-code.ts'
import { formatProblem } from '../../config/problem.ts'
import { unknownRouter } from '../../config/text/spelling.ts'
import { leaseText } from '../../daemon/guard/lease.ts'
import type { ConfigSnapshot, ImportedSnapshot, ManagedSnapshot, Snapshot } from '../../daemon/telemetry/snapshot.ts'
import { ask } from '../../files/control-client.ts'
import { newNames } from '../../http/former-names.ts'
import { zone } from '../../http/page/words.js'
import type { CommandResult } from '../command.ts'
import { unreachable } from '../control-client.ts'
import { ALONE, type Surroundings, sentencesOf, surroundingsOf } from './status-cluster.ts'
import { formatHealthchecks } from './status-healthcheck.ts'
import { formatNotifications, formatWebhook } from './status-notify.ts'
import { formatRouter } from './status-router.ts'
import { moment } from './status-time.ts'

const TIMEOUT = 3_000

export type StatusOptions = {
  readonly json: boolean
  /** Name of the virtual router or sync group to show. `undefined`: all virtual routers. */
  readonly router?: string | undefined
  /** True if the nodes of `api.peers` are asked. */
  readonly asksPeers?: boolean
}

export async function statusCommand(socket: string, options: StatusOptions): Promise<CommandResult> {
  const { asksPeers = true, json, router } = options
  try {
    const { status, body } = await ask(socket, { path: '/v1/status', within: TIMEOUT })
    if (status !== 200) throw new Error(`it answered ${status}: ${body.trim()}`)
    if (json && router === undefined) return { exitCode: EXIT.ok, stdout: body, stderr: '' }
    const whole: Snapshot = JSON.parse(body, newNames)
    const snapshot = router === undefined ? whole : ofRouter(whole, router)
    if (typeof snapshot === 'string') return { exitCode: EXIT.usage, stdout: '', stderr: `holdfast: ${snapshot}\n` }
    if (json) return { exitCode: EXIT.ok, stdout: `${JSON.stringify(snapshot)}\n`, stderr: '' }
    const surroundings = await surroundingsOf(socket, whole, { asksPeers, within: TIMEOUT })
    return { exitCode: EXIT.ok, stdout: formatStatus(snapshot, surroundings), stderr: '' }
  } catch (error) {
    return unreachable(socket, error)
  }
}

/**
 * Returns the part of the snapshot about this router or sync group, or an error text if the configuration has no such
 * name.
 */
function ofRouter(snapshot: Snapshot, wanted: string): Snapshot | string {
  const routers = snapshot.routers.filter(({ group, name }) => name === wanted || group === wanted)
  if (routers.length > 0) {
    const names = routers.map(({ name }) => name)
    const isShown = ({ routers: tracking }: Snapshot['healthchecks'][number]) =>
      tracking.some(({ router }) => names.includes(router))
    return { ...snapshot, routers, healthchecks: snapshot.healthchecks.filter(isShown) }
  }
  const names = snapshot.routers.flatMap(({ group, name }) => [name, ...(group === null ? [] : [group])])
  return unknownRouter(wanted, [...new Set(names)])
}

/** Tells how often the engine has crashed. A daemon of an earlier version does not report it. */
const restarted = (count: number | undefined): string =>
  count === undefined || count === 0 ? '' : `, restarted ${count === 1 ? 'once' : `${count} times`} after a crash`

/** Text about the guardian, for each state in which the guardian does not protect this engine completely. */
const behind: Readonly<Record<Snapshot['guardian'], string>> = {
  none: ', NO GUARDIAN: after a crash the VIPs stay on this node',
  armed: ', the guardian acts after a crash but not on a frozen engine',
  guarded: '',
}

export function formatStatus(snapshot: Snapshot, surroundings: Surroundings = ALONE): string {
  const {
    engineRestarts,
    hostname,
    pid,
    guardian,
    startedAt,
    config,
    routers,
    keepalivedBeside,
    controlRefused,
    scheduling,
  } = snapshot
  const now = Date.parse(snapshot.takenAt)
  const { because, lines } = sentencesOf(snapshot, surroundings)
  const since = `${moment(startedAt, now)} (times are ${zone(now)})`
  const head = `holdfast on ${hostname}, pid ${pid}, since ${since}${behind[guardian]}${restarted(engineRestarts)}${preferred(scheduling)}${open(scheduling)}`
  const around = keepalivedBeside.map(
    (process) => `KEEPALIVED (pid ${process.pid}) spoke VRRP on this node when holdfast was started with --force`,
  )
  if (controlRefused > 0)
    around.push(
      `CONTROL SOCKET: a client that was neither root nor the daemon's user was refused ${times(controlRefused)}`,
    )
  around.push(...formatLease(snapshot.lease), ...formatJournal(snapshot.journal))
  const checks = [
    ...formatHealthchecks(snapshot, now),
    ...formatNotifications(snapshot.notifications, now),
    ...formatWebhook(snapshot.webhook),
  ]
  const details = routers.flatMap((router) => formatRouter(router, snapshot, because(router.name)))
  const summary = lines.length === 0 ? [] : [...lines, '']
  return `${[...summary, head, ...around, ...formatConfig(config, now), ...details, ...checks].join('\n')}\n`
}

const times = (count: number) => (count === 1 ? 'once' : `${count} times`)

/** Returns a line if `lease: on` has less than its whole effect. A daemon of an earlier version does not send `lease`. */
function formatLease(lease: Snapshot['lease'] | undefined): string[] {
  const text = lease && leaseText(lease)
  return text === undefined ? [] : [text]
}

/** Returns a line if the event journal has a problem. A daemon of an earlier version does not send `journal`. */
function formatJournal(journal: Snapshot['journal'] | undefined): string[] {
  if (journal == null || (journal.problem === null && journal.lost === 0)) return []
  const { file, lost, problem } = journal
  const now = problem === null ? 'is written again' : `CANNOT BE WRITTEN: ${problem}`
  return [`event journal ${file}: ${now}, ${lost === 1 ? '1 event is' : `${lost} events are`} missing`]
}

/** Returns the text about the real-time priority. A daemon of an earlier version does not send `scheduling`. */
function preferred(scheduling: Snapshot['scheduling'] | undefined): string {
  if (scheduling == null) return ''
  const { policy, priority, realtimeAsked } = scheduling
  if (policy === 'SCHED_RR' || policy === 'SCHED_FIFO') return `, real-time priority ${priority}`
  return realtimeAsked ? ', WITHOUT THE REQUESTED REAL-TIME PRIORITY' : ''
}

/** Returns the text about a guardian without a seccomp filter. */
const open = (scheduling: Snapshot['scheduling'] | undefined): string =>
  scheduling?.guardian?.confined === false ? ', guardian WITHOUT A SECCOMP FILTER' : ''

function formatConfig(config: ConfigSnapshot, now: number): string[] {
  const { file, hash, loadedAt, lastReload, imported, stoppedAt, managed } = config
  const lines = file === null ? [] : [`configuration: ${file}, ${hash ?? 'nothing'}, loaded ${moment(loadedAt, now)}`]
  // A daemon of an earlier version does not send `managed`.
  if (managed != null) lines.push(...formatManaged(managed, now))
  if (imported !== null) lines.push(`  keepalived's file: ${importedText(imported)} (holdfast convert shows which)`)
  if (stoppedAt !== null)
    lines.push(`STOPPED at ${moment(stoppedAt, now)} over keepalived's socket: no router runs until a reload`)
  if (lastReload?.ok !== false) return lines
  const what = managed == null ? 'RELOAD' : 'RELOAD OR HAND-OVER'
  lines.push(
    `LAST ${what} FAILED at ${moment(lastReload.at, now)}; the configuration in force was kept: ${lastReload.reason}`,
  )
  return [...lines, ...lastReload.problems.map((problem) => `  ${formatProblem(problem)}`)]
}

function formatManaged({ handedOver, notKept, waits }: ManagedSnapshot, now: number): string[] {
  const lines = [
    `  managed: ${handedOver === null ? 'stored configuration, none has been handed over since the start' : ''}`,
  ]
  if (handedOver !== null) {
    const revision = handedOver.revision === null ? '' : `, revision ${handedOver.revision}`
    lines[0] = `  managed: handed over by ${handedOver.by ?? 'an unnamed client'}${revision} at ${moment(handedOver.at, now)}`
  }
  if (waits !== null) lines[0] = `  managed: IDLE until a configuration is handed over: ${waits}`
  if (notKept !== null) lines.push(`  NOT STORED, a restart would lose it: ${notKept}`)
  return lines
}

function importedText({ carried, withoutEffect, notSupported, refused, unknown }: ImportedSnapshot): string {
  const rest = [
    [withoutEffect, 'without effect'],
    [notSupported, 'NOT SUPPORTED'],
    [refused, 'REFUSED'],
    [unknown, 'UNKNOWN'],
  ] as const
  const counts = rest.flatMap(([count, label]) => (count === 0 ? [] : [`${count} ${label}`]))
  return [`${carried} keywords carried over`, ...counts].join(', ')
}
