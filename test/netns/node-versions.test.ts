/**
 * The test runs two daemons on one node under two versions of Node. Whichever version starts first, the daemon that
 * starts second is refused, and the VIP stays. Node 20 and newer versions write the name of an abstract socket in
 * different forms. For this reason a lock that Node binds would not exclude the other version.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { run } from '../../src/lab/command.ts'
import { holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { HoldfastProcess } from '../../src/lab/daemons/holdfast-process.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'

const REFUSED = /^holdfast: Cannot run: another daemon already runs in this network namespace/

describeNetns('two daemons on one node with two versions of Node', () => {
  let folder = ''
  let lab: Lab
  /** Node that runs the tests, and Node that holdfast ships. */
  let nodes: { readonly here: string; readonly shipped: string }
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hf-node-'))
    run([join(packageRoot(), 'scripts', 'pinned-node.sh'), folder])
    nodes = { here: process.execPath, shipped: join(folder, 'node') }
  }, 120_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  afterEach(() => lab.destroy())

  function start(name: string, node: string): HoldfastProcess {
    const host = lab.router(1)
    const directory = join(lab.directory, name)
    const plan = { host, priority: 150, intervalMs: 100, address: LAB_VIP }
    const configuration = holdfastConfig(plan, directory)
    return new HoldfastProcess(lab, host, { directory, configuration, environment: { HOLDFAST_NODE: node } })
  }

  test.each([
    ['the older one runs', 'here', 'shipped'],
    ['the newer one runs', 'shipped', 'here'],
  ] as const)('%s, and the other one is refused', async (_, first, second) => {
    const versions = [nodes[first], nodes[second]].map((node) => run([node, '--version']).trim())
    expect(new Set(versions).size, `number of different Node versions among ${versions}`).toBe(2)
    lab = createLab({ routers: 1 })
    const running = start('first', nodes[first])
    const sight = () => running.lines.map(({ text }) => text)
    await eventually('the VIP to be held', () => lab.holders(LAB_VIP).length === 1, { sight, within: 15_000 })
    const other = start('second', nodes[second])
    const { code } = await other.exited
    expect([code, other.lines.map(({ text }) => text)], `the second one, under ${versions[1]}`).toEqual([
      1,
      [expect.stringMatching(REFUSED)],
    ])
    expect([await running.state(), lab.holders(LAB_VIP)], 'the first one afterwards').toEqual(['Active', ['r1']])
  })
})
