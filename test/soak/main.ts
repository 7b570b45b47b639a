/**
 * `make soak SECONDS=3600`: carries out the plan, prints each step, writes the table, all measured values and the
 * pictures. Exit status 1 after a violation, if something was left over, or if memory was not flat; 64 for wrong
 * usage, 77 without root, 130 after an interrupt. Decides nothing about steps and bounds.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { LEAST_SECONDS } from './flatness.ts'
import { descriptorPicture, memoryPicture, outagePicture } from './soak-picture.ts'
import { makeSoakPlan, type SoakFault } from './soak-plan.ts'
import { complaintsOf, json, markdown } from './soak-report.ts'
import { runSoak, type SoakResult } from './soak-run.ts'

const USAGE = `usage: make soak [SECONDS=3600] [OUT=build/soak.md] [ARGS='…']
  --interval 10ms   of the advertisements
  --every 10        seconds between two failovers
  --reload 60       seconds between two reloads
  --seed 1          of the moments
Beside OUT: everything as .json, three pictures as -memory.svg, -descriptors.svg and -outages.svg. Memory is judged from ${LEAST_SECONDS} s on.
`
const SAMPLE_EVERY = 5_000

function fail(message: string, status: number): never {
  process.stderr.write(`soak: ${message}\n`)
  process.exit(status)
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3600' },
    interval: { type: 'string', default: '10ms' },
    every: { type: 'string', default: '10' },
    reload: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string', default: 'build/soak.md' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
if (process.getuid?.() !== 0) fail('Cannot make network namespaces: not root', 77)
const positive = (name: 'seconds' | 'every' | 'reload', least: number): number => {
  const value = Number(values[name])
  if (!(value >= least))
    fail(`Cannot use --${name} "${values[name]}": a number of seconds, ${least} or more, wanted`, 64)
  return value
}
const seconds = positive('seconds', 10)
// A fault lasts up to 2.5 s, and its node has to be back for the next one.
const every = positive('every', 5)
const reloadEvery = positive('reload', 5)
const seed = Number(values.seed)
if (!Number.isInteger(seed)) fail(`Cannot use --seed "${values.seed}": a whole number wanted`, 64)
const interval = Number(/^(\d+)ms$/.exec(values.interval)?.[1])
if (!(interval >= 10 && interval <= 1_000 && interval % 10 === 0))
  fail(`Cannot use --interval "${values.interval}": 10ms to 1000ms in steps of 10 wanted`, 64)

const interrupted = new AbortController()
// The first interrupt ends the run with the results so far, the second interrupt ends the run immediately. The lab
// would end this process on the first one, so the lab's own listener is removed as soon as there is a lab. The lab
// removes itself at the exit, too.
function listenToInterrupts(): void {
  process.removeAllListeners('SIGINT')
  process.on('SIGINT', () => (interrupted.signal.aborted ? process.exit(130) : interrupted.abort()))
}

function write(result: SoakResult): void {
  const base = values.out.replace(/\.md$/, '')
  mkdirSync(dirname(values.out), { recursive: true })
  writeFileSync(values.out, markdown(result))
  writeFileSync(`${base}.json`, json(result))
  writeFileSync(`${base}-memory.svg`, memoryPicture(result))
  writeFileSync(`${base}-descriptors.svg`, descriptorPicture(result))
  writeFileSync(`${base}-outages.svg`, outagePicture(result))
}

const plan = makeSoakPlan({
  seconds,
  seed,
  every: every * 1_000,
  reloadEvery: reloadEvery * 1_000,
  warmUp: seconds / 6,
})
process.stdout.write(`${plan.steps.length} steps in ${(plan.ms / 1_000).toFixed(0)} s\n`)
const onStep = ({ id, kind, node, variant }: SoakFault, since: number) => {
  if (id === 1) listenToInterrupts()
  process.stdout.write(`${(since / 1_000).toFixed(1).padStart(7)} s  #${id} ${node} ${kind} ${variant}\n`)
}
const result = await runSoak({ plan, interval, sampleEvery: SAMPLE_EVERY, onStep, aborted: interrupted.signal })
write(result)
process.stdout.write(`\n${markdown(result)}`)
if (interrupted.signal.aborted) process.exit(130)
process.exit(result.assessment.violations.length + complaintsOf(result).length > 0 ? 1 : 0)
