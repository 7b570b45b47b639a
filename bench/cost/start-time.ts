/**
 * Measures how long a daemon needs from the moment before its process is created (`ip netns exec` included) until it is
 * a Backup that receives advertisements. The measurement takes two times. One is the interface's join of the multicast
 * group 224.0.0.18, seen from outside for both daemons. The second time is the daemon's own report of the state Backup.
 * This file decides which date counts: holdfast's report has an exact date of its own. For keepalived the time of
 * reception counts, because the date in its log has only seconds.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { keepalivedConfig } from '../../src/lab/daemons/keepalived.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { familyOf, type LoggedLine, LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { hasJoined } from './process-text.ts'
import type { Start, StartKind } from './result.ts'

const WITHIN = { within: 20_000, every: 2 }

function commandOf(lab: Lab, kind: StartKind): readonly string[] {
  const plan = { host: lab.router(1), priority: 100, intervalMs: 100, address: LAB_VIP }
  const at = (name: string) => join(lab.directory, name)
  if (kind === 'keepalived') {
    writeFileSync(at('start.conf'), keepalivedConfig(plan))
    const own = ['--pid', at('start.pid'), '--vrrp_pid', at('start-vrrp.pid')]
    return ['keepalived', '--vrrp', '--dont-fork', '--log-console', '--use-file', at('start.conf'), ...own]
  }
  writeFileSync(at('start.yaml'), holdfastConfig(plan, at('run'), {}, { api: { listen: '127.0.0.1:9655' } }))
  const run = ['run', '-c', at('start.yaml')]
  if (kind === 'holdfast') return [join(packageRoot(), 'bin', 'holdfast'), ...run]
  return [process.execPath, '--max-semi-space-size=1', join(packageRoot(), 'dist', 'bundle', 'main.js'), ...run]
}

/**
 * Returns the time at which a log line reports the state Backup; `undefined` for any other line. `clock`: realtime
 * minus monotonic time, in ms.
 */
function backupAt({ text, at }: LoggedLine, clock: number): number | undefined {
  if (/Entering BACKUP STATE/.test(text)) return at
  const time = /"time":(\d+).*"to":"Backup"/.exec(text)?.[1]
  return time === undefined ? undefined : Number(time) - clock
}

async function startOnce(lab: Lab, kind: StartKind, joined: () => boolean): Promise<Start> {
  const argv = commandOf(lab, kind)
  const clock = Date.now() - monotonicMs()
  const from = monotonicMs()
  const started = new LoggedProcess(lab, lab.router(1), argv)
  try {
    const said = () => started.lines.slice(-3).map(({ text }) => text)
    const joinedMs =
      (await eventually(`${kind} to join`, () => joined() && monotonicMs(), { sight: said, ...WITHIN })) - from
    const backup = () => started.lines.map((line) => backupAt(line, clock)).find((at) => at !== undefined)
    const backupMs = (await eventually(`${kind} to be Backup`, backup, { sight: said, ...WITHIN })) - from
    return { kind, joinedMs, backupMs }
  } finally {
    started.signal('SIGTERM')
    await started.exited
    await eventually(`${kind} to be gone`, () => !joined(), { sight: () => familyOf(started.pid), ...WITHIN })
  }
}

/** Measures the start times of the daemons alternately, so that noise of the machine affects all of them alike. */
export async function startTimes(kinds: readonly StartKind[], runs: number, took: (start: Start) => void) {
  const lab = createLab({ routers: 1, clients: [] })
  try {
    // This process keeps the network namespace open, so that its /proc/net files can be read.
    const holder = new LoggedProcess(lab, lab.router(1), ['sleep', 'infinity'])
    const joined = () => hasJoined(readFileSync(`/proc/${holder.pid}/net/igmp`, 'utf8'))
    // A process of `ip netns exec` enters the namespace some time after its start. The process is inside when its name
    // is `sleep`.
    const inside = () => readFileSync(`/proc/${holder.pid}/comm`, 'utf8').trim() === 'sleep'
    await eventually('the holder to be inside', inside, { sight: () => '', ...WITHIN })
    for (let run = 0; run < runs; run++) for (const kind of kinds) took(await startOnce(lab, kind, joined))
  } finally {
    lab.destroy()
  }
}
