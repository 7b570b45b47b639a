/**
 * Runs `make bench-balancer`: a client asks the API's VIP while the load balancer of its holder, the API servers or the
 * VIP itself have an accident. Each event has a lab of its own. This file decides when an event is over: after its time,
 * as soon as no request was lost for some seconds.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, setPriority } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../../src/base/message-of.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { BalancerLab } from '../../test/support/balancer-lab.ts'
import { type BalancerEvent, EVENTS, LINE_UPS, type LineUp, startVrrp } from './events.ts'
import { markdown, type Result } from './report.ts'

const USAGE = `usage: npm run bench:balancer -- [options]
  --runs N         runs of each event (default 1)
  --only LIST      line-ups: of fast,upstream (default both)
  --event TEXT     only events whose name contains this text
  --out DIRECTORY  for balancer.md and balancer.json (default bench/results)
`
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1' },
    only: { type: 'string', default: LINE_UPS.join(',') },
    event: { type: 'string', default: '' },
    out: { type: 'string', default: join(packageRoot(), 'bench', 'results') },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
const runs = Number(values.runs)
const chosen = values.only.split(',')
const lineUps = LINE_UPS.filter((each) => chosen.includes(each))
const events = EVENTS.filter(({ name }) => name.includes(values.event))
const problems = [
  ...(Number.isInteger(runs) && runs > 0 ? [] : [`--runs: cannot use "${values.runs}", expected an integer from 1`]),
  ...(lineUps.length === chosen.length ? [] : [`--only: cannot use "${values.only}", expected ${LINE_UPS.join(', ')}`]),
  ...(events.length > 0 ? [] : [`--event: no event has "${values.event}" in its name`]),
]
if (problems.length > 0) {
  for (const problem of problems) process.stderr.write(`balancer: ${problem}\n`)
  process.exit(64)
}
if (process.getuid?.() !== 0) {
  process.stderr.write('balancer: Cannot make network namespaces: not root\n')
  process.exit(77)
}

// All processes of the benchmark inherit it: other programs of this machine shall not add to the figures.
const NICE = -15
setPriority(NICE)

const UPSTREAM = join(packageRoot(), 'bench', 'balancer', 'upstream.cfg.tmpl')
/** Milliseconds without a lost request after which an event is over. */
const QUIET = 4_000
const LONGEST = 120_000
/** Milliseconds after which the client counts a request as lost. */
const PATIENCE = 2_000

async function play(event: BalancerEvent, lineUp: LineUp): Promise<Result> {
  const about = { event: event.name, lineUp }
  const lab = new BalancerLab()
  try {
    await lab.start({ holdsVip: event.isMove !== true })
    const daemons = event.isMove === true ? await startVrrp(lab) : []
    const nodes = event.isMove === true ? [lab.node(1), lab.node(2)] : [lab.node(1)]
    const flags = lineUp === 'upstream' ? ['--profile=upstream'] : []
    for (const node of nodes) if (lineUp === 'upstream') node.template = UPSTREAM
    await Promise.all(nodes.map((node) => lab.balance(node, ...flags)))
    await lab.startClient(event.held)
    await sleep(1_000)
    const load = loadavg()[0] ?? 0
    const at = await event.act(lab, daemons)
    const first = monotonicMs() + event.shows[lineUp] * 1_000
    // The end of a request that is not lost yet may still come.
    const isOver = () => monotonicMs() - Math.max(first, lab.lastLoss(at) + PATIENCE) > QUIET
    while (!isOver() && monotonicMs() - at < LONGEST) await sleep(250)
    const loss = lab.loss(at, monotonicMs() - PATIENCE)
    return { ...about, loss, load, broken: event.held === undefined ? undefined : lab.broken }
  } catch (error) {
    return { ...about, loss: undefined, broken: undefined, load: loadavg()[0] ?? 0, failure: messageOf(error) }
  } finally {
    await lab.destroy()
  }
}

const machine = {
  node: process.versions.node,
  kernel: release(),
  haproxy: execFileSync('haproxy', ['-v'], { encoding: 'utf8' }).split(/ [-0-9]* ?\d{4}\//)[0] ?? '',
  cpus: cpus().length,
}
const results: Result[] = []
mkdirSync(values.out, { recursive: true })
for (const event of events)
  for (const lineUp of lineUps)
    for (let run = 0; run < runs; run++) {
      const result = await play(event, lineUp)
      results.push(result)
      process.stderr.write(`${lineUp}, ${event.name}: ${result.failure ?? JSON.stringify(result.loss)}\n`)
      writeFileSync(join(values.out, 'balancer.json'), `${JSON.stringify({ machine, results }, null, 1)}\n`)
      writeFileSync(join(values.out, 'balancer.md'), markdown(results, machine))
    }
process.stdout.write(markdown(results, machine))
process.exit(results.some(({ failure }) => failure !== undefined) ? 1 : 0)
