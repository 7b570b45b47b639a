/**
 * `make lab` as a user types it. docker-compose.yml starts, each fault happens once, and the observations of its client
 * are compared with those of its Prometheus. This file does not know how the lab works. Every bound of these tests is
 * the time of the mechanism plus time for a busy machine.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { Row, Summary } from '../../bench/compose/story.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { docker } from '../support/docker.ts'
import { describeContainer } from '../support/require.ts'

const FAULTS = ['drain', 'stop', 'kill', 'oom', 'pause', 'disconnect', 'carrier', 'split', 'keepalived']
/**
 * Limit in ms for faults without priority 0, or that only a kernel handles. Such faults take Active_Down_Interval, 0.7
 * s at an interval of 200 ms.
 */
const UNTOLD = 5_000

describeContainer('make lab', () => {
  let story: Summary
  let words: string
  const rowOf = (name: string): Row => {
    const row = story.rows.find((one) => one.name === name)
    if (row === undefined) throw new Error(`no row for ${name}: ${words}`)
    return row
  }

  beforeAll(() => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-lab-'))
    try {
      const file = join(directory, 'lab.json')
      words = execFileSync('make', ['lab', `ARGS=--json ${file}`], {
        cwd: packageRoot(),
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
        timeout: 570_000,
      })
      story = JSON.parse(readFileSync(file, 'utf8'))
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }, 600_000)

  test('plays each fault, and prints a line for each fault in its table', () => {
    expect(story.rows.map(({ name }) => name)).toEqual(FAULTS)
    for (const { title } of story.rows) expect(words).toContain(`| ${title} | IPv4 `)
  })

  test.each(FAULTS)('has one holder before and after the fault %s, and an outage that ends', (name) => {
    const { before, during, after, fault, back } = rowOf(name)
    expect(before.holder, 'holder before the fault').toBe('r1')
    expect(after.holder, 'holder after the fault').toBe('r1')
    expect(before.actives, 'Actives before the fault, according to Prometheus').toEqual(['r1'])
    expect(after.actives, 'Actives after the fault, according to Prometheus').toEqual(['r1'])
    if (name === 'split') expect(during).toEqual({ parted: ['r1', 'r2'] })
    else if (name === 'keepalived') expect(during).toEqual({ holder: 'keepalived', actives: [] })
    else expect(during).toEqual({ holder: 'r2', actives: ['r2'] })
    for (const [address, { outageMs }] of [...Object.entries(fault), ...Object.entries(back)])
      expect(outageMs, `ms without an answer of ${address}`).toBeLessThan(UNTOLD)
  })

  test('shows an outage when a node dies without priority 0, and two holders in a split', () => {
    for (const { outageMs } of Object.values(rowOf('kill').fault)) expect(outageMs).toBeGreaterThan(200)
    expect(rowOf('split').overlapMs).toBeGreaterThan(1_000)
  })

  test('has a Prometheus that scrapes the three routers with the shipped rules, and counts as many moves as the client', () => {
    const shipped = readFileSync(join(packageRoot(), 'deploy', 'prometheus', 'holdfast.rules.yml'), 'utf8')
    expect(story.up, 'routers that are scraped').toBe(3)
    expect(story.rules, 'rules that are evaluated').toBe(shipped.match(/^ +- (record|alert): /gm)?.length)
    expect(story.changesByPrometheus).toBe(story.changes)
    // Each fault causes a move and a move back, except the split: a router that is cut off stays Active.
    expect(story.changes).toBe(2 * (FAULTS.length - 1))
  })

  test('leaves no container and no network behind', () => {
    const left = ['--filter', 'label=com.docker.compose.project', '--format', '{{.Labels}}']
    const ours = `${docker(['ps', '--all', ...left])}${docker(['network', 'ls', ...left])}`
      .split('\n')
      .filter((labels) => /com\.docker\.compose\.project=hflab/.test(labels))
    expect(ours).toEqual([])
  })
})
