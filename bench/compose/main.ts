/**
 * Runs `make lab`, the whole demonstration of docker-compose.yml. `make lab` starts the lab, makes the faults one by
 * one, and prints a table of outages. `make lab` removes the lab however the process ends. This file decides the
 * printed texts and their order, and which images are built if no registry answers.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../../src/base/message-of.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { monotonicMs } from '../../src/lab/wait.ts'
import { command, works } from './command.ts'
import { FAULTS, type Fault } from './faults.ts'
import { Lab, ROUTERS } from './lab.ts'
import { type ComposeVersion, findCompose, Project } from './project.ts'
import { PrometheusView } from './prometheus-view.ts'
import { changesOf, play, type Row, restsOf, type Summary } from './story.ts'
import { table } from './table.ts'

const USAGE = `usage: npm run lab -- [options]
  --fault LIST     of ${FAULTS.map(({ name }) => name).join(',')} (default: all)
  --compose 1|2    docker-compose or docker compose (default: 2 where it is there)
  --json FILE      what was seen, for programs
  --no-build       the image of HOLDFAST_IMAGE (default holdfast:lab) is there
`
const OFFICIAL = 'prom/prometheus:v2.55.1'
const STAND_IN = 'holdfast-lab-prometheus'

const startedAt = monotonicMs()
function say(text: string): void {
  process.stderr.write(`[${((monotonicMs() - startedAt) / 1_000).toFixed(1).padStart(6)} s]  ${text}\n`)
}

type Options = {
  faults: readonly Fault[]
  compose: ComposeVersion | undefined
  json: string | undefined
  build: boolean
}

function wrong(message: string): never {
  process.stderr.write(`lab: ${message}\n${USAGE}`)
  process.exit(64)
}

function readOptions(): Options {
  try {
    const { values } = parseArgs({
      options: {
        fault: { type: 'string' },
        compose: { type: 'string' },
        json: { type: 'string' },
        'no-build': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(USAGE)
      process.exit(0)
    }
    const names = values.fault?.split(',')
    const unknown = names?.find((name) => !FAULTS.some((fault) => fault.name === name))
    if (unknown !== undefined) wrong(`Cannot find the fault "${unknown}"`)
    if (values.compose !== undefined && values.compose !== '1' && values.compose !== '2')
      wrong(`Cannot use --compose "${values.compose}": wanted 1 or 2`)
    const compose = values.compose === undefined ? undefined : values.compose === '1' ? 1 : 2
    const faults = FAULTS.filter(({ name }) => names === undefined || names.includes(name))
    return { faults, compose, json: values.json, build: !values['no-build'] }
  } catch (error) {
    return wrong(error instanceof Error ? error.message : `${error}`)
  }
}

/**
 * Returns the name of the official Prometheus image, or the name of the stand-in that is built if no registry has the
 * official image.
 */
async function prometheusImage(): Promise<string> {
  const chosen = process.env.PROMETHEUS_IMAGE
  if (chosen !== undefined && chosen !== '') return chosen
  if (await works(['docker', 'image', 'inspect', OFFICIAL])) return OFFICIAL
  const pulled = await command(['docker', 'pull', '--quiet', OFFICIAL], { within: 300_000 }).then(
    () => true,
    () => false,
  )
  if (pulled) return OFFICIAL
  say(`no registry gives ${OFFICIAL}: building ${STAND_IN} out of Debian's Prometheus in its place`)
  const folder = join(packageRoot(), 'deploy', 'compose')
  const file = ['--file', join(folder, 'prometheus.Dockerfile')]
  await command(['docker', 'build', '--quiet', '--tag', STAND_IN, ...file, folder], { within: 600_000 })
  return STAND_IN
}

function told({ title, fault, during, after }: Row): string {
  const outage = Object.entries(fault).map(([address, { outageMs }]) => `${address} ${outageMs.toFixed(0)} ms`)
  return `${title}: without an answer ${outage.join(', ')}; ${'parted' in during ? during.parted.join(' and ') : during.holder} had it, then ${after.holder}`
}

const { faults, compose, json, build } = readOptions()
const isRoot = process.getuid?.() === 0
const left = isRoot ? [] : faults.filter(({ root }) => root === true)
if (left.length > 0) say(`left out, because they take root on this machine: ${left.map(({ name }) => name).join(', ')}`)

try {
  const version = await findCompose(compose)
  const project = await Project.create({
    compose: version,
    profiles: ['interop'],
    // An empty PROMETHEUS_PORT makes Docker choose a free port.
    env: { LAB_CLIENT_OUTPUT: 'json', PROMETHEUS_PORT: '', PROMETHEUS_IMAGE: await prometheusImage() },
  })
  const interop = faults.some(({ name }) => name === 'keepalived')
  if (build) {
    say('building the images')
    await project.compose(['build', 'r1', ...(interop ? ['keepalived'] : [])], false)
  }
  say(`Compose ${version}: three routers, a client, Prometheus`)
  await project.compose(['up', '--detach', '--no-build', ...ROUTERS, 'client', 'prometheus'])
  const lab = await Lab.attach(project)
  const prometheus = await PrometheusView.of(project)
  await lab.rests({ at: 'r1' })
  await prometheus.allUp(ROUTERS.length)
  say('r1 has both addresses, Prometheus scrapes three of three')

  const rows: Row[] = []
  for (const fault of faults.filter((one) => !left.includes(one))) {
    const row = await play(fault, lab, prometheus)
    rows.push(row)
    say(told(row))
  }
  await prometheus.allUp(ROUTERS.length)
  const rests = restsOf(rows)
  const summary: Summary = {
    compose: version,
    up: await prometheus.up(),
    rules: await prometheus.rules(),
    changes: changesOf(rests.map(({ holder }) => holder)),
    // If Prometheus does not scrape a node, the node is not in its list of Active nodes.
    changesByPrometheus: changesOf(rests.map(({ actives }) => actives.join())),
    tookMs: monotonicMs() - startedAt,
    rows,
  }
  process.stdout.write(`\n${table(rows)}\n`)
  process.stdout.write(
    `The addresses moved ${summary.changes} times as the client saw it, ${summary.changesByPrometheus} times as Prometheus did, ` +
      `which scrapes ${summary.up} of ${ROUTERS.length} and has ${summary.rules} rules.\n`,
  )
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(summary, null, 2)}\n`)
  lab.close()
  await project.down()
  say('everything that the lab made is removed')
} catch (error) {
  process.stderr.write(`lab: ${messageOf(error)}\n`)
  process.exit(1)
}
process.exit(0)
