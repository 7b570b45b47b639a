/**
 * The Dockerfile under both builders. The legacy builder has already built the image of the other tests. BuildKit shares no layer with that
 * image and builds all layers. This file is separate, so that its minute and a half runs beside the other files.
 */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { docker } from '../support/docker.ts'
import { describeContainer } from '../support/require.ts'
import { BOTH, Containers, READ_ONLY } from './containers.ts'

/** Docker clients. The client of 20.10 contains BuildKit; later clients have BuildKit in a plugin. */
const CLIENTS = ['docker', '/usr/bin/docker']

describeContainer('the Dockerfile', () => {
  let containers: Containers
  beforeAll(() => {
    containers = new Containers()
  })
  afterAll(() => containers?.destroy())

  test.each([
    ['legacy', '0'],
    ['BuildKit', '1'],
  ])('%s: the image runs as its user', { timeout: 600_000 }, async (name, value) => {
    const tag = `holdfast:test-${name.toLowerCase()}`
    const complaints = []
    for (const client of CLIENTS) {
      const argv = ['build', '--quiet', '--target', 'runtime', '--tag', tag, packageRoot()]
      const env = { ...process.env, DOCKER_BUILDKIT: value }
      const { status, stderr } = spawnSync(client, argv, { env, encoding: 'utf8', timeout: 500_000 })
      if (status === 0) break
      complaints.push(`${client}: ${stderr}`)
    }
    expect(complaints.length, complaints.join('\n')).toBeLessThan(CLIENTS.length)
    const container = containers.start([...READ_ONLY, ...BOTH], tag)
    await container.takesTheAddress()
    containers.remove()
    docker(['rmi', tag])
  })
})
