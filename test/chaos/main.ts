/**
 * `make chaos SECONDS=60 SEED=1`: carries out a plan, prints the faults as they happen, and prints the table. Writes the table and
 * all measurements to the file of --out. Exit status: 1 after a violation, 64 for wrong usage, 77 without root, 130 when interrupted.
 * Decides nothing about faults and bounds.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { isNear } from '../judge/report.ts'
import { DAEMONS, NETS } from './chaos-node.ts'
import { type ChaosResult, runChaos } from './chaos-run.ts'
import { KINDS, makePlan } from './plan.ts'
import { json, markdown, name, violationsIn } from './report.ts'

const USAGE = `usage: make chaos [SECONDS=60] [SEED=1] [DAEMON=holdfast|keepalived|both] [INTERVAL=100ms] [OUT=FILE] [ARGS='…']
  --kinds A,B    only these (${KINDS.join(', ')})
  --without NET  holdfast without one of its nets: ${NETS.join(', ')}
  --no-realtime  the daemons without real-time priority: what they may then cost depends on what else the machine does
  --log          what the nodes said around each violation
`

function fail(message: string, status: number): never {
  process.stderr.write(`chaos: ${message}\n`)
  process.exit(status)
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    daemon: { type: 'string', default: 'holdfast' },
    interval: { type: 'string', default: '100ms' },
    kinds: { type: 'string', default: '' },
    without: { type: 'string', default: '' },
    'no-realtime': { type: 'boolean', default: false },
    log: { type: 'boolean', default: false },
    out: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
if (process.getuid?.() !== 0) fail('Cannot make network namespaces: not root', 77)
const seconds = Number(values.seconds)
const seed = Number(values.seed)
if (!(seconds > 0)) fail(`Cannot use --seconds "${values.seconds}": a number above 0 wanted`, 64)
if (!Number.isInteger(seed)) fail(`Cannot use --seed "${values.seed}": a whole number wanted`, 64)
const interval = Number(/^(\d+)ms$/.exec(values.interval)?.[1])
if (!(interval >= 10 && interval <= 1_000 && interval % 10 === 0))
  fail(`Cannot use --interval "${values.interval}": 10ms to 1000ms in steps of 10 wanted`, 64)
const wanted = values.kinds.split(',').filter(Boolean)
const kinds = wanted.length === 0 ? KINDS : KINDS.filter((kind) => wanted.includes(kind))
if (kinds.length !== (wanted.length || KINDS.length)) fail(`Cannot use --kinds "${values.kinds}"\n${USAGE}`, 64)
const daemons = values.daemon === 'both' ? DAEMONS : DAEMONS.filter((daemon) => daemon === values.daemon)
if (daemons.length === 0) fail(`Cannot use --daemon "${values.daemon}"\n${USAGE}`, 64)

const without = NETS.find((net) => net === values.without)
if (values.without !== '' && without === undefined) fail(`Cannot use --without "${values.without}"\n${USAGE}`, 64)

const interrupted = new AbortController()
// The first signal ends the run with a report of the time so far; the second signal ends the run immediately. The lab
// would end this process on the first signal, so its listener is removed. The lab still removes itself at the exit.
function listenToInterrupts(): void {
  process.removeAllListeners('SIGINT')
  process.on('SIGINT', () => (interrupted.signal.aborted ? process.exit(130) : interrupted.abort()))
}

const plan = makePlan({ seed, seconds, kinds })
process.stdout.write(`seed ${seed}, ${plan.faults.length} faults in ${(plan.ms / 1_000).toFixed(0)} s\n`)
const results: ChaosResult[] = []
for (const daemon of daemons) {
  if (interrupted.signal.aborted) break
  process.stdout.write(`\n${daemon}\n`)
  const onFault = (fault: Parameters<typeof name>[0], since: number) => {
    if (fault.id === 1) listenToInterrupts()
    process.stdout.write(`${(since / 1_000).toFixed(3).padStart(9)} s  #${fault.id} ${name(fault)}\n`)
  }
  const result = await runChaos({
    ...{
      plan,
      daemon,
      interval,
      onFault,
      without: daemon === 'holdfast' ? without : undefined,
      aborted: interrupted.signal,
      realtime: !values['no-realtime'],
    },
  })
  results.push(result)
  const told = violationsIn(result)
  for (const [i, violation] of result.assessment.violations.entries()) {
    process.stdout.write(`VIOLATION ${told[i]}\n`)
    if (!values.log) continue
    for (const { at, node, text } of result.notes.filter((note) => isNear(note.at, [violation])))
      process.stdout.write(`  | ${(at - result.zero).toFixed(1)} ${node} ${text.slice(0, 260)}\n`)
  }
  if (values.out !== '') {
    mkdirSync(dirname(values.out), { recursive: true })
    writeFileSync(values.out, markdown(results))
    writeFileSync(`${values.out.replace(/\.md$/, '')}.json`, json(results))
  }
}
process.stdout.write(`\n${markdown(results)}`)
if (interrupted.signal.aborted) process.exit(130)
// keepalived is there for comparison.
process.exit(
  results.some(({ daemon, assessment }) => daemon === 'holdfast' && assessment.violations.length > 0) ? 1 : 0,
)
