/**
 * `holdfast status`: asks the running daemon over its unix socket and tells it in lines a person can read at night.
 * With --json the answer is passed on as it came.
 */
import { request } from 'node:http'
import { strangeWords } from '../daemon/foreign-peers.ts'
import type { RouterSnapshot, Snapshot, StrangerSnapshot } from '../daemon/snapshot.ts'
import type { CommandResult } from './check.ts'
import { EXIT } from './exit-code.ts'

const TIMEOUT = 3_000

export async function statusCommand(socket: string, options: { json: boolean }): Promise<CommandResult> {
  try {
    const body = await get(socket, '/v1/status')
    if (options.json) return { exitCode: EXIT.ok, stdout: body, stderr: '' }
    const snapshot: Snapshot = JSON.parse(body)
    return { exitCode: EXIT.ok, stdout: formatStatus(snapshot), stderr: '' }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return {
      exitCode: EXIT.unreachable,
      stdout: '',
      stderr: `holdfast: Cannot reach the daemon at ${socket}: ${why}\n`,
    }
  }
}

function get(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, timeout: TIMEOUT }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8')
        if (response.statusCode === 200) resolve(body)
        else reject(new Error(`it answered ${response.statusCode}: ${body.trim()}`))
      })
    })
    asked.on('timeout', () => asked.destroy(new Error(`no answer in ${TIMEOUT} ms`)))
    asked.on('error', (error) => reject(error))
    asked.end()
  })
}

export function formatStatus(snapshot: Snapshot): string {
  const { hostname, pid, guardian, startedAt, routers } = snapshot
  const head = `holdfast on ${hostname}, pid ${pid}, since ${startedAt}${guardian ? '' : ', NO GUARDIAN: a crash leaves VIPs behind'}`
  return `${[head, ...routers.flatMap(formatRouter)].join('\n')}\n`
}

function formatRouter(router: RouterSnapshot): string[] {
  const { name, state, reason, since, vrid, priority, faults, addresses, strangers, counters } = router
  const weighted = priority.effective === priority.base ? '' : ` (base ${priority.base})`
  const lines = [
    '',
    `${name}: ${state} since ${since} (${reason})`,
    `  vrid ${vrid} on ${router.interface ?? 'no interface'}, IPv${router.family.slice(-1)}, VRRPv${router.version}, ${router.transport}`,
    `  priority ${priority.effective}${weighted}, every ${router.advertisementIntervalMs} ms`,
    `  owner: ${ownerWords(router)}`,
    `  addresses: ${addresses.map(({ address, present }) => `${address} ${present ? '(here)' : '(not here)'}`).join(', ')}`,
  ]
  if (faults.length > 0) lines.push(`  FAULT: ${faults.join(', ')}`)
  for (const [deadline, ms] of Object.entries(router.deadlines))
    lines.push(`  ${deadline.replace(/InMs$/, '')} in ${ms} ms`)
  const discarded = Object.entries(counters.discarded).map(([key, count]) => `${key} ${count}`)
  const sent = Object.values(counters.sent).reduce((sum, count) => sum + count, 0)
  lines.push(
    `  advertisements: ${sent} sent, ${counters.received} received, ${discarded.length === 0 ? 'none discarded' : `discarded: ${discarded.join(', ')}`}`,
  )
  for (const stranger of strangers) lines.push(strangerLine(stranger, router.version))
  for (const [code, count] of Object.entries(counters.sendFailures))
    lines.push(`  SEND FAILURES: ${code}, ${times(count)} since the start; the log has the destination`)
  if (counters.rivalAnswers > 0)
    lines.push(`  RIVAL: another host answers for it: ${times(counters.rivalAnswers)} since the start`)
  return lines
}

const packets = (count: number) => (count === 1 ? '1 packet' : `${count} packets`)
const times = (count: number) => (count === 1 ? 'once' : `${count} times`)

function strangerLine(stranger: StrangerSnapshot, version: number): string {
  const { address, count, lastHeardMsAgo, listenedTo, reason } = stranger
  const effect = listenedTo ? 'listened to all the same' : 'not listened to'
  const words = strangeWords(reason, stranger.version, version)
  return `  STRANGER: ${address} ${words} (${reason}): ${effect}, ${packets(count)}, the last ${lastHeardMsAgo} ms ago`
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
