/**
 * Runs `npm run bench:wake-ups`: counts how often the threads of an idle node wake up. This file decides which
 * configurations are measured. The count comes from the kernel (voluntary context switches of each thread), because a
 * counter in the daemon would miss wake-ups that the daemon does not see. The result also has the JavaScript turns of
 * the engine by cause (holdfast_engine_turns_total).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { familyOf } from '../../src/lab/logged-process.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'

type Cell = { readonly intervalMs: number; readonly transport: 'multicast' | 'unicast'; readonly checked: boolean }
type Counts = ReadonlyMap<string, number>
/** Sleeps of each thread, and its CPU time in milliseconds. */
type Load = { readonly sleeps: Counts; readonly cpu: Counts }

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    'warm-up': { type: 'string', default: '15' },
    interval: { type: 'string', default: '1000' },
    only: { type: 'string', default: '' },
    nodes: { type: 'string', default: '3' },
    routers: { type: 'string', default: '1' },
  },
})
const nodes = Number(values.nodes)
/** Number of virtual routers of each node, with VRID and address n. */
const routers = Number(values.routers)
const cells = values.interval
  .split(',')
  .flatMap((interval) =>
    (['multicast', 'unicast'] as const).flatMap((transport) =>
      [false, true].map((checked): Cell => ({ intervalMs: Number(interval), transport, checked })),
    ),
  )
const nameOf = ({ checked, intervalMs, transport }: Cell) =>
  `${intervalMs} ms, ${transport}${checked ? ', one http check' : ''}`

/** Returns what each thread of the daemon has used since its start. Threads with the same name are added up. */
function loadOf(pid: number): Load {
  const sleeps = new Map<string, number>()
  const cpu = new Map<string, number>()
  const family = familyOf(pid)
  for (const [i, process] of family.entries()) {
    for (const task of readdirSync(`/proc/${process}/task`)) {
      const status = readFileSync(`/proc/${process}/task/${task}/status`, 'utf8')
      const switches = Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1])
      const name = /^Name:\s+(.*)$/m.exec(status)?.[1] ?? ''
      const main = i === 0 ? 'guardian' : 'engine'
      const thread = task === `${process}` && i <= 1 ? main : i === 1 ? `thread ${task} ${name}` : name
      const ran = Number(readFileSync(`/proc/${process}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6
      sleeps.set(thread, (sleeps.get(thread) ?? 0) + switches)
      cpu.set(thread, (cpu.get(thread) ?? 0) + ran)
    }
  }
  return { sleeps, cpu }
}

async function turnsOf(daemon: Holdfast): Promise<Counts> {
  const snapshot = await daemon.snapshot()
  const causes = snapshot?.turns
  return new Map(Object.entries(causes ?? {}))
}

function rates(from: Counts, to: Counts, seconds: number): string {
  return [...to]
    .map(([name, count]) => [name, (count - (from.get(name) ?? 0)) / seconds] as const)
    .filter(([, rate]) => rate > 0)
    .sort(([, one], [, other]) => other - one)
    .map(([name, rate]) => `${name} ${rate.toFixed(2)}`)
    .join(', ')
}

function daemonOn(lab: Lab, cell: Cell, position: number): Holdfast {
  const host = lab.router(position)
  const peers = lab.routers.filter((other) => other !== host).map(({ address }) => address)
  const { checked, intervalMs, transport } = cell
  const plan = { host, priority: 250 - 50 * position, intervalMs, address: LAB_VIP }
  const transports = transport === 'unicast' ? { unicast: { source: host.address, peers } } : 'multicast'
  const virtualRouters = Array.from({ length: routers }, (_, i) => ({
    ...{ name: `r${i + 1}`, vrid: i + 1, interface: 'eth0', addresses: [`10.88.0.${i + 1}`], priority: plan.priority },
    ...{ transport: transports, advertisementInterval: `${intervalMs}ms`, peers },
  }))
  const probe = { name: 'service', http: 'http://127.0.0.1:8080/', interval: '1s', timeout: '500ms' }
  return new Holdfast(
    lab,
    { ...plan, ...(transport === 'unicast' ? { unicastPeers: peers } : {}) },
    checked ? { track: [{ healthcheck: 'service', weight: 10 }] } : {},
    [],
    {
      api: { listen: '127.0.0.1:9655' },
      ...(checked ? { healthchecks: [probe] } : {}),
      ...(routers > 1 ? { virtualRouters } : {}),
    },
  )
}

const SERVER = "require('node:http').createServer((q, r) => r.end('ok')).listen(8080, '127.0.0.1')"

async function measure(cell: Cell): Promise<void> {
  const lab = createLab({ routers: nodes, clients: [] })
  try {
    if (cell.checked) for (const host of lab.routers) lab.spawn(host, ['node', '-e', SERVER])
    const daemons = lab.routers.map((_, i) => daemonOn(lab, cell, i + 1))
    await Promise.all(daemons.map((daemon) => daemon.ready()))
    await daemons[0]?.becomes('Active', 20_000)
    await sleep(routers > 1 ? 5_000 : 0)
    await sleep(Number(values['warm-up']) * 1_000)
    const turns = await Promise.all(daemons.map(turnsOf))
    await sleep(1_500)
    const from = daemons.map(({ process }) => loadOf(process.pid))
    const at = monotonicMs()
    await sleep(Number(values.seconds) * 1_000)
    const to = daemons.map(({ process }) => loadOf(process.pid))
    const seconds = (monotonicMs() - at) / 1_000
    const after = await Promise.all(daemons.map(turnsOf))
    const roles = ['Active', 'Backup'].slice(0, nodes)
    for (const [i, role] of roles.entries()) {
      const empty: Counts = new Map()
      const head = `${nameOf(cell)}, ${routers} routers, ${role} (${await daemons[i]?.state()})`
      console.log(`${head}: ${rates(from[i]?.sleeps ?? empty, to[i]?.sleeps ?? empty, seconds)}`)
      console.log(`    CPU ms/s: ${rates(from[i]?.cpu ?? empty, to[i]?.cpu ?? empty, seconds)}`)
      const causes = rates(turns[i] ?? empty, after[i] ?? empty, seconds + 1.5)
      if (causes !== '') console.log(`    JavaScript: ${causes}`)
    }
    for (const daemon of daemons) daemon.terminate()
    await Promise.all(daemons.map(({ exited }) => Promise.race([exited, sleep(5_000)])))
  } finally {
    lab.destroy()
  }
}

for (const cell of cells) if (nameOf(cell).includes(values.only)) await measure(cell)
process.exit(0)
