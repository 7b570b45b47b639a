/**
 * `make lab` as a user types it. docker-compose.yml starts, each fault happens once, and the observations of its
 * client are compared with those of its Prometheus. Refuses to know how the lab does it. Bounds are those of the
 * mechanism plus time for a busy machine.
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
 * Milliseconds for faults without priority 0, or that only a kernel handles: they take Active_Down_Interval, 0.7 s at
 * 200 ms.
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

  test('each fault happens, and has a line in the table', () => {
    expect(story.rows.map(({ name }) => name)).toEqual(FAULTS)
    for (const { title } of story.rows) expect(words).toContain(`| ${title} | IPv4 `)
  })

  test.each(FAULTS)('%s has one holder before and after it, and an outage that ends', (name) => {
    const { before, during, after, fault, back } = rowOf(name)
    expect(before.holder, 'who had the addresses before').toBe('r1')
    expect(after.holder, 'who had the addresses afterwards').toBe('r1')
    expect(before.actives, 'whom Prometheus had as Active before').toEqual(['r1'])
    expect(after.actives, 'whom Prometheus had as Active afterwards').toEqual(['r1'])
    if (name === 'split') expect(during).toEqual({ parted: ['r1', 'r2'] })
    else if (name === 'keepalived') expect(during).toEqual({ holder: 'keepalived', actives: [] })
    else expect(during).toEqual({ holder: 'r2', actives: ['r2'] })
    for (const [address, { outageMs }] of [...Object.entries(fault), ...Object.entries(back)])
      expect(outageMs, `ms without an answer of ${address}`).toBeLessThan(UNTOLD)
  })

  test('the client misses a node that dies without priority 0, and a split has two holders', () => {
    for (const { outageMs } of Object.values(rowOf('kill').fault)) expect(outageMs).toBeGreaterThan(200)
    expect(rowOf('split').overlapMs).toBeGreaterThan(1_000)
  })

  test('Prometheus scrapes the three routers with the shipped rules, and counts as many moves as the client', () => {
    const shipped = readFileSync(join(packageRoot(), 'deploy', 'prometheus', 'holdfast.rules.yml'), 'utf8')
    expect(story.up, 'routers that are scraped').toBe(3)
    expect(story.rules, 'rules that are evaluated').toBe(shipped.match(/^ +- (record|alert): /gm)?.length)
    expect(story.changesByPrometheus).toBe(story.changes)
    // A move and the move back; a router that is cut off stays Active.
    expect(story.changes).toBe(2 * (FAULTS.length - 1))
  })

  test('the lab leaves nothing behind', () => {
    const left = ['--filter', 'label=com.docker.compose.project', '--format', '{{.Labels}}']
    const ours = `${docker(['ps', '--all', ...left])}${docker(['network', 'ls', ...left])}`
      .split('\n')
      .filter((labels) => /com\.docker\.compose\.project=hflab/.test(labels))
    expect(ours).toEqual([])
  })
})
