/**
 * Runs health checks that fail ten times a second in a real daemon. The daemon must not lose memory, file descriptors
 * or processes with each failed check. This file decides in which ways the checks fail. This program does not judge the
 * figures, which go to docs/cost.md. With HF_COLLECT=1 each heap is measured after a garbage collection
 * (thread-memory.mjs).
 *   node build/bench/cost/failing-checks.js [minutes, 60 by default]
 */
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP } from '../../src/lab/lab.ts'
import { familyOf, LoggedProcess } from '../../src/lab/logged-process.ts'
import { sleep } from '../../src/lab/wait.ts'

const [minutes = 60] = process.argv.slice(2).map(Number)
const lab = createLab({ routers: 1 })

function residentMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kb) / 1024
}

try {
  const host = lab.router(1)
  const program = join(lab.directory, 'hangs')
  writeFileSync(program, '#!/bin/sh\nexec sleep 5\n')
  chmodSync(program, 0o755)
  writeFileSync(join(lab.directory, '8080'), '500')
  const support = join(import.meta.dirname, '..', '..', '..', 'test', 'support')
  const service = new LoggedProcess(lab, host, [
    process.execPath,
    join(support, 'ready-ports.mjs'),
    lab.directory,
    '8080',
  ])
  await service.line(/listening/, 10_000)
  // The server below accepts connections into its kernel queue and never answers a request.
  const hung = new LoggedProcess(lab, host, [
    process.execPath,
    '-e',
    'require("net").createServer(() => {}).listen(8081, () => console.log("listening"))',
  ])
  await hung.line(/listening/, 10_000)
  const often = { interval: '100ms', timeout: '80ms', jitter: '0%' }
  const healthchecks = [
    { name: 'refused', http: 'http://127.0.0.1:9/', ...often },
    { name: 'status', http: 'http://127.0.0.1:8080/', ...often },
    { name: 'silent', http: 'http://127.0.0.1:8081/', ...often },
    { name: 'not-tls', http: 'https://127.0.0.1:8080/', ...often },
    { name: 'tcp-refused', tcp: '127.0.0.1:9', ...often },
    { name: 'tcp-silent', tcp: '127.0.0.1:8081', send: 'x', expect: 'y', ...often },
    { name: 'name', tcp: 'nowhere.invalid:80', ...often },
    { name: 'fails', exec: ['/bin/false'], ...often },
    { name: 'hangs', exec: [program], ...often },
    { name: 'file', file: join(lab.directory, 'nothing'), ...often },
  ]
  const track = healthchecks.map(({ name }) => ({ healthcheck: name, weight: -1 }))
  const memory = join(lab.directory, 'thread-memory')
  const watched = [
    'env',
    `NODE_OPTIONS=--import=${join(import.meta.dirname, '..', '..', '..', 'bench', 'cost', 'thread-memory.mjs')}`,
  ]
  const daemon = new Holdfast(
    lab,
    { host, priority: 100, intervalMs: 1_000, address: LAB_VIP },
    { track },
    [],
    { healthchecks },
    [...watched, `HF_THREAD_MEMORY=${memory}`],
  )
  await daemon.ready()
  /** Returns the used heap of each thread in MB. The figure includes garbage that V8 has not collected yet. */
  const heapsMb = () => {
    const lines = readFileSync(memory, 'utf8').trim().split('\n')
    const looks = lines.map((text): { threadId: number; used: number } => JSON.parse(text))
    return [0, 1].map((thread) => ((looks.findLast(({ threadId }) => threadId === thread)?.used ?? 0) / 1e6).toFixed(1))
  }
  const line = async (after: number) => {
    const family = familyOf(daemon.process.pid)
    const [, engine = daemon.process.pid] = family
    const checks = (await daemon.snapshot())?.healthchecks ?? []
    const runs = checks.reduce((sum, check) => sum + check.runs, 0)
    const well = checks.filter(({ last }) => last?.ok !== false).map(({ name }) => name)
    const descriptors = readdirSync(`/proc/${engine}/fd`).length
    const columns = [
      after.toFixed(1),
      runs,
      residentMb(engine).toFixed(1),
      ...heapsMb(),
      descriptors,
      family.length,
      well.join(' ') || 'none',
    ]
    process.stdout.write(`| ${columns.join(' | ')} |\n`)
  }
  process.stdout.write(
    '| minute | runs | engine RSS MB | heap of the engine MB | heap of the checks MB | descriptors | processes | checks that do not fail |\n|---|---|---|---|---|---|---|---|\n',
  )
  const every = Math.min(1, minutes / 4)
  for (let at = every; at <= minutes + 1e-9; at += every) {
    await sleep(every * 60_000)
    await line(at)
  }
} finally {
  lab.destroy()
}
