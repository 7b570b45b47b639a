/**
 * The image as its users see it: contents, writable paths, users, capabilities, errors, process 1, signals and the health check.
 * builders.test.ts tests both builders.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { eventually } from '../../src/lab/wait.ts'
import { docker } from '../support/docker.ts'
import { describeContainer } from '../support/require.ts'
import { IMAGE } from './build-image.ts'
import { BOTH, Containers, capabilities, MARK, READ_ONLY, type Running, ran, SOON, VIP } from './containers.ts'

const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
const NNP = ['--security-opt', 'no-new-privileges']
const ROOT_USER = ['--user', '0']
const ENDED = 77

/** Returns the output of a command in a container of the image, run as root, which may read every file. */
const shell = (script: string): string =>
  docker(['run', '--rm', ...MARK, ...ROOT_USER, '--network', 'none', '--entrypoint', 'sh', IMAGE, '-c', script])

describeContainer('the image', () => {
  let containers: Containers
  const start = (...given: Parameters<Containers['start']>) => containers.start(...given)

  beforeAll(() => {
    containers = new Containers()
  })
  afterEach(() => containers.remove())
  afterAll(() => containers?.destroy())

  describe('contents of the image', () => {
    test('the image adds at most 150 MB to its base', () => {
      const base = docker([
        'image',
        'inspect',
        '--format',
        '{{index .Config.Labels "org.opencontainers.image.base.name"}}',
        IMAGE,
      ])
      const size = (image: string) => Number(docker(['image', 'inspect', '--format', '{{.Size}}', image]))
      const over = (size(IMAGE) - size(base.trim())) / 1e6
      expect(over).toBeLessThanOrEqual(150)
      // Node alone is larger than this. A smaller figure belongs to another base.
      expect(over).toBeGreaterThan(90)
    })

    test('the image has no compiler, no npm, no Node in the PATH, and no set-user-ID file beyond those of its base', () => {
      const tools =
        'sh cc gcc g++ c++ tcc clang ld as strip make cmake python python3 node npm npx yarn corepack setcap curl wget git'
      expect(
        shell(`for tool in ${tools}; do command -v $tool || true; done`),
        'tools in the PATH, of which only sh is in the image',
      ).toMatch(/^\S*\/sh\n$/)
      expect(
        shell("find / -xdev '(' -name 'npm*' -o -name '*.tgz' -o -name node_modules ')' -not -path '/proc/*'"),
      ).toBe('/opt/holdfast/node_modules\n')
      expect(shell('find /opt /usr/local /run /etc/holdfast -xdev -perm /6000')).toBe('')
      expect(shell('find / -xdev -user 990 -not -path "/proc/*" -not -path "/run/*"')).toBe('')
    })

    test('the image has labels, a numeric user and the version of this checkout', () => {
      const [{ Config: config }] = JSON.parse(docker(['image', 'inspect', IMAGE]))
      const label = (name: string) => config.Labels[`org.opencontainers.image.${name}`]
      expect(label('title')).toBe('holdfast')
      expect(label('version')).toBe(manifest.version)
      expect(label('description')).toBe(manifest.description)
      expect(label('licenses')).toBe('Apache-2.0')
      expect(shell('head -n 2 /opt/holdfast/LICENSE')).toContain('Apache License')
      expect(label('base.name')).toMatch(/^debian:/)
      expect(config).toMatchObject({ User: '990:990', Entrypoint: ['/usr/local/bin/holdfast'], Cmd: ['run'] })
      expect(config.Healthcheck.Test).toEqual(['CMD', '/usr/local/bin/holdfast-healthcheck'])
      expect(shell('holdfast --version').trim()).toContain(manifest.version)
    })

    test('the bill of materials names every part, Debian packages as well, and all licences', () => {
      const bill = JSON.parse(shell('cat /opt/holdfast/dist/sbom.cdx.json'))
      const component = { name: 'holdfast', version: manifest.version }
      expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component } })
      const parts = new Set(bill.components.map(({ name, version }: Record<string, string>) => `${name} ${version}`))
      const node = shell('/opt/holdfast/runtime/node --version').trim().slice(1)
      expect(parts).toContain(`node ${node}`)
      const packages = shell('dpkg-query --show')
        .trim()
        .replace(/(?::\w+)?\t/g, ' ')
        .split('\n')
      expect(packages.length).toBeGreaterThan(50)
      for (const each of packages) expect(parts).toContain(each)
      const names = packages.map((each) => each.split(' ')[0]).join(' ')
      expect(shell(`for each in ${names}; do [ -s /usr/share/doc/$each/copyright ] || echo $each; done`)).toBe('')
      const licences = shell('cat /opt/holdfast/dist/licences.txt')
      for (const name of Object.keys(manifest.dependencies)) expect(licences).toMatch(new RegExp(`^${name}\\b`, 'm'))
      expect(shell('head -n 1 /opt/holdfast/runtime/LICENSE')).toContain('Node.js')
    })

    test('the code cache belongs to the Node of the image', () => {
      expect(shell('cd /opt/holdfast && ls -d dist/bundle/$(runtime/node --version)-*/engine.js.cache')).toContain(
        'engine.js.cache',
      )
      expect(shell('ls -d /opt/holdfast/dist/bundle/v[0-9]*').trim().split('\n')).toHaveLength(1)
    })
  })

  describe('users and capabilities', () => {
    test.each([
      ['user 990 with NET_ADMIN and NET_RAW', BOTH],
      ['a user that nobody knows', [...BOTH, '--user', '12345:12345']],
      ['root with NET_ADMIN and NET_RAW', [...BOTH, ...ROOT_USER]],
      ['root with no-new-privileges', [...BOTH, ...ROOT_USER, ...NNP]],
    ])('%s takes the address, with a read-only root', async (_, options) => {
      const container = start([...READ_ONLY, ...options])
      await container.takesTheAddress()
      const status = JSON.parse(container.exec('holdfast', 'status', '--json').output)
      expect(status).toMatchObject({ guardian: 'guarded', journal: { problem: null } })
      expect(container.logs(), 'log of the container, without a complaint about another program').not.toMatch(
        /socket for VRRP|Cannot/,
      )
      expect(container.exec('sh', '-c', 'echo >/opt/holdfast/x').output).toContain('Read-only file system')
    })

    test('the user has the two capabilities in the engine, and none in the worker', async () => {
      const container = start([...READ_ONLY, ...BOTH])
      await container.says('Serving /metrics')
      const sets = container.exec(
        'sh',
        '-c',
        `grep -h CapEff /proc/1/status /proc/${container.engine()}/task/*/status | sort | uniq`,
      )
      expect(sets.output.trim().split('\n')).toEqual(['CapEff:\t0000000000000000', 'CapEff:\t0000000000003000'])
    })

    test('doctor as user 990 judges a running daemon, and its own user without one', {
      timeout: 60_000,
    }, async () => {
      const doctor = ['holdfast', 'doctor', '--verbose', '--duration', '1s']
      const container = start([...READ_ONLY, ...BOTH])
      await container.takesTheAddress()
      const { output, status } = container.exec(...doctor)
      const engine = container.engine()
      expect(output).toContain(`capabilities: the running daemon (pid ${engine}) has CAP_NET_ADMIN and CAP_NET_RAW`)
      expect(output).not.toMatch(/^error/m)
      expect(status, output).not.toBe(3)
      const alone = container.exec(...doctor, '--socket', '/nowhere')
      expect(alone.output).toMatch(
        /^error +capabilities: user 990 of this command lacks CAP_NET_ADMIN and CAP_NET_RAW, so a daemon of this user cannot start/m,
      )
      expect(alone.status).toBe(3)
    })

    test('the image also runs without a read-only root and without a tmpfs', async () => {
      const container = start(BOTH)
      await container.takesTheAddress()
      expect(container.exec('holdfast-healthcheck', 'ready').status).toBe(0)
      const capture = ['holdfast', 'capture', '-i', 'eth0', '--json', '--count', '1']
      const captured = ran('exec', ...ROOT_USER, container.id, ...capture)
      expect(captured, 'exit and output of capture as root').toMatchObject({
        status: 0,
        output: expect.stringContaining('"interface":"eth0"'),
      })
    })

    const users = [
      ['user 990', []],
      ['root', ROOT_USER],
    ] as const
    const missing = [
      ['NET_ADMIN', capabilities('NET_RAW'), 'Cannot run without CAP_NET_ADMIN: '],
      ['NET_RAW', capabilities('NET_ADMIN'), 'Cannot run without CAP_NET_RAW: '],
      ['both', capabilities(), 'Cannot run without CAP_NET_ADMIN and CAP_NET_RAW: '],
    ] as const
    test.each(users.flatMap(([who, user]) => missing.map(([what, ...rest]) => [who, what, user, ...rest] as const)))(
      '%s without %s gets an error that names the missing one',
      async (_, __, user, options, words) => {
        const container = start([...user, ...options])
        expect(await container.exitStatus()).toBe(ENDED)
        expect(container.logs()).toContain(words)
        expect(container.logs()).toContain('(cap_add)')
      },
    )

    test('a user other than root with no-new-privileges gets an error with the reason and the remedy', async () => {
      const container = start([...BOTH, ...NNP])
      expect(await container.exitStatus()).toBe(ENDED)
      expect(container.logs()).toContain('Cannot run without CAP_NET_ADMIN and CAP_NET_RAW: no-new-privileges')
      expect(container.logs()).toContain('prevents user 990 from getting the capabilities')
      expect(container.logs()).toContain('run it as root')
    })

    test('with SYS_NICE the engine has real-time priority, for its user as well', async () => {
      const container = start([...READ_ONLY, ...capabilities('NET_ADMIN', 'NET_RAW', 'SYS_NICE')], IMAGE, [
        'run',
        '--realtime',
      ])
      await container.says('runs with 1 virtual routers')
      const sets = container.exec('sh', '-c', 'grep CapEff /proc/1/status').output
      expect(sets).toContain('0000000000803000')
    })
  })

  describe('process 1', () => {
    test('process 1 is the guardian, and leaves no zombie of other processes', async () => {
      const container = start([...READ_ONLY, ...BOTH])
      await container.says('runs with 1 virtual routers')
      expect(container.exec('cat', '/proc/1/cmdline').output).toMatch(
        /^\/opt\/holdfast\/native\/prebuilds\/linux-\w+\/holdfast-guardian\0/,
      )
      // An orphan: its parent has ended, and no process of the command waits for it.
      container.exec('sh', '-c', '(sleep 3 >/dev/null 2>&1 & echo $! >/tmp/orphan)')
      const orphan = container.exec('cat', '/tmp/orphan').output.trim()
      expect(
        container.exec('cat', `/proc/${orphan}/stat`).output,
        'status of the orphan, whose parent is process 1',
      ).toMatch(/^\d+ \(sleep\) \w 1 /)
      const look = () =>
        container.exec('sh', '-c', `[ -d /proc/${orphan} ] && cat /proc/${orphan}/stat || echo gone`).output
      await eventually('the orphan to be reaped', () => look() === 'gone\n', { sight: look, ...SOON })
    })

    test.each(['TERM', 'INT'])(
      'SIG%s makes the router leave, with its address removed and exit status 0',
      async (name) => {
        const container = start([...READ_ONLY, ...BOTH])
        await container.takesTheAddress()
        container.signal(name)
        expect(await container.exitStatus()).toBe(0)
        expect(container.logs()).toContain('holdfast has stopped')
      },
    )

    test('SIGHUP makes the daemon read the configuration again', async () => {
      const container = start([...READ_ONLY, ...BOTH])
      await container.takesTheAddress()
      const loadedAt = () => JSON.parse(container.exec('holdfast', 'status', '--json').output).config.loadedAt
      const before = loadedAt()
      container.signal('HUP')
      await eventually('a reload', () => loadedAt() !== before, { sight: () => container.logs(), ...SOON })
      expect(container.has(VIP)).toBe(true)
    })

    test('process 1 ends with the status of the engine: 128 plus the signal that ended it', async () => {
      const container = start([...READ_ONLY, ...BOTH])
      await container.takesTheAddress()
      container.exec('sh', '-c', `kill -KILL ${container.engine()}`)
      expect(await container.exitStatus()).toBe(137)
      expect(container.logs()).toContain('engine killed by signal 9 (SIGKILL)')
    })

    test('under the name of keepalived the image knows its flags, pid files, USR1 and USR2, with a read-only root', async () => {
      const file = join(containers.folder, 'keepalived.conf')
      const instance = `interface eth0\nvirtual_router_id 200\npriority 100\nadvert_int 1\nvirtual_ipaddress {\n${VIP}/32\n}`
      writeFileSync(file, `vrrp_instance v1 {\n${instance}\n}\n`, { mode: 0o644 })
      const container = start(
        [
          ...READ_ONLY,
          ...BOTH,
          ...ROOT_USER,
          '--volume',
          `${file}:/etc/keepalived/keepalived.conf:ro`,
          '--entrypoint',
          'keepalived',
        ],
        IMAGE,
        ['--dont-fork', '--vrrp', '--log-detail', '-f', '/etc/keepalived/keepalived.conf'],
      )
      await container.takesTheAddress()
      expect(container.exec('cat', '/proc/1/comm', '/run/keepalived.pid').output).toBe('keepalived\n1\n')
      const read = (path: string) => container.exec('cat', path).output
      for (const [name, path, words] of [
        ['USR1', '/tmp/keepalived.data', 'VRRP Instance = v1'],
        ['USR2', '/tmp/keepalived.stats', 'Advertisements'],
      ] as const) {
        container.signal(name)
        await eventually(`${words} in ${path}`, () => read(path).includes(words), { sight: () => read(path), ...SOON })
      }
    })
  })

  describe('HEALTHCHECK', () => {
    const health = (container: Running) => container.inspect('{{.State.Health.Status}}')
    const lastWords = (container: Running) => container.inspect('{{range .State.Health.Log}}{{.Output}}{{end}}')

    test('the container is healthy, is unhealthy while the engine is frozen, and is healthy again afterwards', async () => {
      const container = start([...READ_ONLY, ...BOTH, '--health-interval', '1s', '--health-retries', '1'])
      const becomes = (state: string) =>
        eventually(state, () => health(container) === state, { sight: () => lastWords(container), ...SOON })
      await becomes('healthy')
      const engine = container.engine()
      container.exec('sh', '-c', `kill -STOP ${engine}`)
      await becomes('unhealthy')
      expect(lastWords(container)).toContain(
        'holdfast-healthcheck: no answer at /run/holdfast/holdfast.sock: it took longer than 2 s',
      )
      container.exec('sh', '-c', `kill -CONT ${engine}`)
      await becomes('healthy')
    })

    test('a fault makes the container not ready, and leaves it alive', async () => {
      const container = start([...READ_ONLY, ...BOTH], IMAGE, [], 'eth7')
      await container.says('runs with 1 virtual routers')
      expect(container.exec('holdfast-healthcheck', 'live')).toEqual({ status: 0, output: 'ok\n\n' })
      const ready = container.exec('holdfast-healthcheck', 'ready')
      expect(ready.status).toBe(1)
      expect(ready.output).toContain('v1: Initialize: ')
    })

    test('health reports a wrong argument, and an address without an answer', () => {
      const asked = (...argv: string[]) =>
        ran('run', '--rm', ...MARK, '--entrypoint', 'holdfast-healthcheck', IMAGE, ...argv)
      expect(asked('alive')).toMatchObject({
        status: 64,
        output: expect.stringContaining('usage: holdfast-healthcheck [live | ready]'),
      })
      expect(asked('live', '/nowhere')).toMatchObject({
        status: 1,
        output: expect.stringContaining('no answer at /nowhere: '),
      })
    })
  })
})
