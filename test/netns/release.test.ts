/**
 * The files of `make release`, used as a user does. The npm package runs without scripts and compiler, and the tarball runs without Node.
 * The service runs under a real systemd from installation to purge.
 */
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../src/lab/wait.ts'
// Two builds of the packages must not take the CPU from the files beside this one.
import '../support/low-priority.ts'
import { describeNetns } from '../support/require.ts'
import { SystemdLab } from '../support/systemd-lab.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const OUT = join(ROOT, 'build', 'release')
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const ARCH = process.arch
const commit = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).stdout.slice(0, 12)
const RELEASED = expect.stringMatching(new RegExp(`^${version.replaceAll('.', '\\.')} \\(${commit}(, changed)?\\)$`))
const TREE = `holdfast-${version}-linux-${ARCH}`

function ran(argv: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): string {
  const [program = '', ...rest] = argv
  const { status, stdout, stderr, error } = spawnSync(program, rest, { encoding: 'utf8', timeout: 120_000, ...options })
  if (status !== 0)
    throw new Error(`${argv.join(' ')}: ${error?.message ?? `exit status ${status}: ${stdout}${stderr}`}`)
  return stdout
}

describeNetns('the files of a release', () => {
  let home = ''
  let tarball = ''

  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'holdfast-release-'))
    ran(['scripts/release.sh'], { cwd: ROOT })
    ran(['tar', '-C', home, '-xzf', join(OUT, `${TREE}.tar.gz`)])
    tarball = join(home, TREE)
  }, 120_000)
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  test('match their checksums, and name every part', () => {
    expect(readdirSync(OUT).toSorted()).toEqual(
      ['SHA256SUMS', `holdfast-${version}.cdx.json`, `holdfast-${version}.tgz`, `${TREE}.tar.gz`].toSorted(),
    )
    ran(['sha256sum', '--check', '--strict', 'SHA256SUMS'], { cwd: OUT })

    const bill = JSON.parse(readFileSync(join(OUT, `holdfast-${version}.cdx.json`), 'utf8'))
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'holdfast', version } } })
    const parts = bill.components.map(({ name }: { name: string }) => name)
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(parts).toEqual(expect.arrayContaining([...Object.keys(dependencies), 'node', 'musl']))
    const licences = readFileSync(join(tarball, 'dist', 'licences.txt'), 'utf8')
    for (const name of parts) expect(licences, `the licence of ${name}`).toMatch(new RegExp(`^${name}\\b`, 'im'))
    expect(existsSync(join(tarball, 'CHANGELOG.md'))).toBe(true)
  })

  test('contain the target of every link in their pages', () => {
    const pages = readdirSync(tarball, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.md') && !name.startsWith('node_modules'),
    )
    expect(pages.length).toBeGreaterThan(30)
    const dead = pages.flatMap((page) => {
      const text = readFileSync(join(tarball, page), 'utf8').replace(/```[\s\S]*?```/g, '')
      const targets = [...text.matchAll(/\]\(([^)#\s]+)/g)].flatMap(([, target = '']) =>
        /^\w+:/.test(target) ? [] : target,
      )
      return targets
        .filter((target) => !existsSync(join(tarball, page, '..', target)))
        .map((target) => `${page}: ${target}`)
    })
    expect(dead).toEqual([])
  })

  test('have a bill of materials that names exactly the packages of the bundle', () => {
    const bill = JSON.parse(readFileSync(join(OUT, `holdfast-${version}.cdx.json`), 'utf8'))
    const parts: string[] = bill.components.map((each: Record<string, string>) => `${each.name}@${each.version}`)
    const bundled: string[] = JSON.parse(readFileSync(join(ROOT, 'dist', 'packages.json'), 'utf8'))
    const beside = parts.filter((part) => !bundled.includes(part)).map((part) => part.split('@')[0])
    expect(beside.toSorted()).toEqual(['musl', 'node', 'node-gyp-build'])
    expect(parts).toEqual(expect.arrayContaining(bundled))
  })

  test('have the same bytes after a second build', { timeout: 120_000 }, () => {
    const sums = () => readFileSync(join(OUT, 'SHA256SUMS'), 'utf8')
    const before = sums()
    ran(['scripts/release.sh'], { cwd: ROOT })
    expect(sums()).toBe(before)
    // V8 makes a different code cache in each build, so no archive may contain one.
    for (const archive of [`holdfast-${version}.tgz`, `${TREE}.tar.gz`])
      expect(ran(['tar', '-tzf', join(OUT, archive)]), archive).not.toMatch(/\.cache$/m)
  })

  test('include the pinned Node and the licences of all parts, and need no newer glibc than docs/install.md says', () => {
    const pinned = ran(['scripts/pinned-node.sh', '--version'], { cwd: ROOT }).trim()
    const runtime = join(tarball, 'runtime', 'node')
    expect(ran([runtime, '--version']).trim()).toBe(`v${pinned}`)
    const bill = JSON.parse(readFileSync(join(OUT, `holdfast-${version}.cdx.json`), 'utf8'))
    expect(bill.components).toContainEqual(
      expect.objectContaining({ name: 'node', version: pinned, cpe: expect.stringContaining(`:node.js:${pinned}:`) }),
    )
    expect(readFileSync(join(tarball, 'LICENSE'), 'utf8')).toContain('Apache License')
    expect(bill.metadata.component.licenses).toEqual([{ license: { id: 'Apache-2.0' } }])
    expect(readFileSync(join(tarball, 'runtime', 'LICENSE'), 'utf8')).toContain('Copyright Node.js contributors')
    expect(readFileSync(join(tarball, 'dist', 'licences.txt'), 'utf8')).toMatch(
      /^musl [\d.]+ .*\n\nCopyright © .* Felker/m,
    )
    const [, minor = ''] = /glibc 2\.(\d+) or newer/.exec(readFileSync(join(ROOT, 'docs', 'install.md'), 'utf8')) ?? []
    const wanted = readFileSync(runtime, 'latin1').matchAll(/\0GLIBC_2\.(\d+)(?=[.\0])/g)
    expect(Math.max(...[...wanted].map(([, each]) => Number(each)))).toBe(Number(minor))
  })

  test('include a Node that accepts the code cache also with the heap limit of the kubeadm pod', () => {
    const runtime = join(tarball, 'runtime', 'node')
    const copy = join(home, 'cached')
    ran(['cp', '-R', tarball, copy])
    ran([runtime, join(copy, 'dist', 'bundle', 'warm-up.js')])
    const preload = join(ROOT, 'test', 'support', 'watched-scripts.mjs')
    const scripts = join(home, 'scripts')
    const [pod = ''] =
      /--max-old-space-size=\d+/.exec(readFileSync(join(ROOT, 'deploy/static-pod/kubeadm-api.yaml'), 'utf8')) ?? []
    const env = { ...process.env, NODE_OPTIONS: `--import=${preload} ${pod}`, SCRIPTS: scripts }
    const argv = ['run', '-c', join(home, 'missing.yaml')]
    expect(spawnSync(join(copy, 'bin', 'holdfast'), argv, { env }).status).toBe(78)
    const compiled = readFileSync(scripts, 'utf8').trim().split('\n')
    expect(compiled.length).toBeGreaterThanOrEqual(3)
    for (const line of compiled) expect(JSON.parse(line)).toMatchObject({ given: true, taken: true })
  })

  const DEMO = { timeout: 90_000 }

  test('include an npm package that runs without install scripts and without a compiler', DEMO, () => {
    const prefix = join(home, 'npm')
    ran(
      ['npm', 'install', '--global', '--ignore-scripts', '--offline', '--no-audit', '--no-fund'].concat(
        '--cache',
        join(home, 'empty-cache'),
        '--prefix',
        prefix,
        join(OUT, `holdfast-${version}.tgz`),
      ),
    )
    const packages = readdirSync(join(prefix, 'lib', 'node_modules', 'holdfast', 'node_modules'))
    expect(packages.filter((name) => !name.startsWith('.'))).toEqual(['node-gyp-build'])
    const command = join(prefix, 'bin', 'holdfast')
    expect(ran([command, '--version']).trim()).toEqual(RELEASED)
    expect(ran([command, 'demo'])).toContain('Done; the demo has removed everything that it created.')
  })

  test('include a tarball that needs neither Node nor a compiler on the machine', DEMO, () => {
    const path = join(home, 'path')
    mkdirSync(path)
    for (const tool of ['sh', 'ip', 'readlink', 'dirname', 'uname', 'true']) {
      const found = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].map((folder) => join(folder, tool)).find(existsSync)
      symlinkSync(found ?? tool, join(path, tool))
    }
    const env = { PATH: path }
    expect(ran([join(tarball, 'bin', 'holdfast'), '--version'], { env }).trim()).toEqual(RELEASED)
    expect(ran([join(tarball, 'bin', 'holdfast'), 'demo'], { env })).toContain(
      'Done; the demo has removed everything that it created.',
    )
  })

  describe('installed under systemd', () => {
    const FILE = '/etc/holdfast/holdfast.yaml'
    const VIP = '10.0.0.200'
    const CONFIGURATION = `version: 1
virtualRouters:
  - { name: api, vrid: 51, interface: auto, addresses: [${VIP}/24], priority: 150, advertisementInterval: 100ms }
`
    let lab: SystemdLab | undefined
    const machine = (): SystemdLab => {
      if (lab === undefined) throw new Error('Cannot look at the lab: it has not booted')
      return lab
    }
    const property = (name: string) =>
      machine().output('systemctl', 'show', '--value', `--property=${name}`, 'holdfast')
    const write = (text: string) =>
      machine().output('sh', '-c', 'mkdir -p /etc/holdfast && printf %s "$1" >"$2"', 'sh', text, FILE)
    const has = () => machine().output('ip', '-brief', 'address', 'show', 'eth0').includes(`${VIP}/32`)
    const installer = (...options: string[]) => machine().run(`/srv/${TREE}/install.sh`, ...options)
    const held = (when: string) =>
      eventually(`${VIP} to be held ${when}`, has, {
        sight: () => machine().run('systemctl', 'status', '--no-pager', 'holdfast').output,
        within: 10_000,
      })

    beforeAll(async () => {
      lab = await SystemdLab.booted()
      ran(['tar', '-C', join(lab.root, 'srv'), '-xzf', join(OUT, `${TREE}.tar.gz`)])
      for (const line of [
        'link add eth0 type veth peer name lan',
        'link set lan up',
        'link set eth0 up',
        'address add 10.0.0.1/24 dev eth0',
      ])
        lab.output('ip', ...line.split(' '))
    }, 60_000)
    afterAll(() => {
      lab?.destroy()
    })

    test('the installer names the next step, and the service starts when there is a configuration', async () => {
      const first = installer()
      expect(first).toMatchObject({
        status: 0,
        output: expect.stringContaining('Next: cp /etc/holdfast/holdfast.yaml.example'),
      })
      expect(machine().output('holdfast', 'check', '/etc/holdfast/holdfast.yaml.example')).toContain('api')
      expect(property('ActiveState')).toBe('inactive')
      expect(machine().output('sh', '-c', 'ls /opt/holdfast/dist/bundle/v*/engine.js.cache')).toContain(`-${ARCH}/`)
      write(CONFIGURATION)
      expect(installer()).toMatchObject({ status: 0, output: expect.stringContaining('holdfast runs') })
      expect(property('ActiveState')).toBe('active')
      await held('after the start')
      const text = () => property('StatusText')
      await eventually('systemctl to tell it', () => text() === `api is Active with ${VIP}`, {
        sight: text,
        within: 5_000,
      })
    })

    test('the service has its own user and three capabilities, and engine and guardian have real-time priority', () => {
      const pid = property('MainPID')
      const status = machine().output('cat', `/proc/${pid}/status`)
      expect(status).not.toMatch(/^Uid:\s+0/m)
      expect(status).toMatch(/^CapBnd:\s+0000000000803000$/m)
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
      expect(status).toMatch(/^Seccomp:\s+2$/m)
      const threads = machine()
        .output('ps', '-eLo', 'cls=,rtprio=,comm=')
        .split('\n')
        .map((line) => line.trim().split(/\s+/).join(' '))
      expect(threads.filter((line) => line.startsWith('RR'))).toEqual([
        'RR 21 holdfast-guardi',
        'RR 22 holdfast-clock',
        'RR 20 node',
      ])
    })

    test('the service is exposed no more than docs/install.md states', () => {
      const [, level = ''] =
        /([\d.]+)\s+\w+/.exec(
          machine().output('systemd-analyze', 'security', '--no-pager', 'holdfast').split('\n').at(-1) ?? '',
        ) ?? []
      expect(readFileSync(join(ROOT, 'docs', 'install.md'), 'utf8')).toContain(`exposure level ${level}`)
    })

    test('the service reloads, and a wrong file is refused with a message and changes nothing', async () => {
      const pid = property('MainPID')
      write(CONFIGURATION.replace('150', '140'))
      expect(machine().run('systemctl', 'reload', 'holdfast').status).toBe(0)
      expect(machine().output('holdfast', 'status')).toContain('140')
      write('version: 2')
      expect(machine().run('systemctl', 'reload', 'holdfast').status, 'of a reload with a wrong file').not.toBe(0)
      expect([property('ActiveState'), property('MainPID'), has()]).toEqual(['active', pid, true])
      expect(property('StatusText')).toContain('Reload failed')
      write(CONFIGURATION)
      expect(machine().run('systemctl', 'reload', 'holdfast').status).toBe(0)
    })

    test('the service is back after all its processes died, and after it was frozen', async () => {
      machine().output('systemctl', 'kill', '--signal=KILL', 'holdfast')
      await eventually('a second life', () => property('NRestarts') === '1' && property('ActiveState') === 'active', {
        sight: () => property('NRestarts'),
        within: 15_000,
      })
      await held('in the second life')
      // The engine is frozen and stays frozen. The guardian removes the addresses at the engine's deadline, and systemd's watchdog ends the
      // service after 5 s.
      machine().output('pkill', '-STOP', '-x', 'node')
      await eventually('a third life', () => property('NRestarts') === '2' && property('ActiveState') === 'active', {
        sight: () => property('NRestarts'),
        within: 20_000,
      })
      await held('in the third life')
    }, 60_000)

    test('the service does not restart repeatedly with a wrong configuration', async () => {
      write('version: 2')
      expect(machine().run('systemctl', 'restart', 'holdfast').status).not.toBe(0)
      expect([property('ActiveState'), property('ExecMainStatus'), has()]).toEqual(['failed', '78', false])
      write(CONFIGURATION)
      expect(machine().run('systemctl', 'restart', 'holdfast')).toMatchObject({ status: 0 })
      await held('again')
    })

    test('an upgrade to a version that refuses the configuration changes nothing', async () => {
      const before = machine().output('stat', '-c', '%i', '/opt/holdfast/bin/holdfast')
      write('version: 2')
      const refused = installer()
      expect(refused, refused.output).toMatchObject({
        status: 1,
        output: expect.stringContaining('Nothing was changed'),
      })
      expect(refused.output, 'output of the refused upgrade, with the reason').toContain(`${FILE}:1:`)
      expect(
        machine().output('stat', '-c', '%i', '/opt/holdfast/bin/holdfast'),
        'inode of the installed program after the refused upgrade',
      ).toBe(before)
      expect([property('ActiveState'), has()]).toEqual(['active', true])
      write(CONFIGURATION)
    })

    test('an upgrade to a version that does not start restores the old version', async () => {
      const broken = `cp -r /srv/${TREE} /srv/broken && sed -i '2i [ "$1" != run ] || exit 9' /srv/broken/bin/holdfast`
      machine().output('sh', '-c', broken)
      const failed = machine().run('/srv/broken/install.sh')
      expect(failed, failed.output).toMatchObject({
        status: 1,
        output: expect.stringContaining('the old one is back and runs'),
      })
      expect(
        machine().run('grep', 'exit 9', '/opt/holdfast/bin/holdfast').status,
        'exit status of grep for the broken program in the installed one',
      ).not.toBe(0)
      expect(property('ActiveState')).toBe('active')
      await held('after the way back')
    }, 60_000)

    test('with lease: on, the installer upgrades in place, and a version that fails its dry run changes nothing', async () => {
      write(`${CONFIGURATION}lease: on\n`)
      machine().output('systemctl', 'reload', 'holdfast')
      await held('after the reload')
      const engine = () => JSON.parse(machine().output('holdfast', 'status', '--json')).pid
      const [pid, guardian, restarts] = [engine(), property('MainPID'), property('NRestarts')]
      const upgraded = installer()
      expect(upgraded, upgraded.output).toMatchObject({
        status: 0,
        output: expect.stringMatching(/replaced version .*: api kept the addresses/),
      })
      expect(engine()).not.toBe(pid)
      expect([property('MainPID'), property('NRestarts'), has()]).toEqual([guardian, restarts, true])

      const next = engine()
      const fails = 'if (process.env.HOLDFAST_GUARDIAN_REHEARSAL) throw new Error("made to fail")'
      const main = '/srv/unfit/dist/bundle/main.js'
      machine().output('sh', '-c', `cp -r /srv/${TREE} /srv/unfit && sed -i '1i ${fails}' ${main}`)
      machine().output('sh', '-c', 'echo "# unfit" >>/srv/unfit/deploy/systemd/holdfast-resign.service')
      const refused = machine().run('/srv/unfit/install.sh')
      expect(refused, refused.output).toMatchObject({
        status: 1,
        output: expect.stringMatching(/made to fail[\s\S]*the old one is back and runs on/),
      })
      expect([engine(), property('MainPID'), has()]).toEqual([next, guardian, true])
      expect(machine().run('grep', 'made to fail', '/opt/holdfast/dist/bundle/main.js').status).not.toBe(0)
      expect(machine().run('grep', 'unfit', '/etc/systemd/system/holdfast-resign.service').status).toBe(1)

      // An engine that was replaced without an address is not restarted, because its addresses would move again.
      const moved = `sed -i 1d ${main} && sed -i '2i [ "$1" != upgrade ] || exit 2' /srv/unfit/bin/holdfast`
      machine().output('sh', '-c', moved)
      expect(machine().run('/srv/unfit/install.sh').status).toBe(0)
      expect([engine(), property('MainPID'), has()]).toEqual([next, guardian, true])
      write(CONFIGURATION)
    }, 60_000)

    test('an upgrade keeps the configuration, an uninstallation leaves only the configuration, and a purge leaves nothing', async () => {
      expect(installer().status).toBe(0)
      await held('after the upgrade')
      expect(machine().output('cat', FILE)).toBe(CONFIGURATION.trim())
      expect(installer('--uninstall')).toMatchObject({
        status: 0,
        output: expect.stringContaining('its configuration stays'),
      })
      expect(has(), `${VIP} on eth0 after uninstalling`).toBe(false)
      const left = () =>
        machine().output(
          'sh',
          '-c',
          'find /opt/holdfast* /var/lib/holdfast /etc/holdfast /etc/systemd/system/holdfast* /usr/local/bin/holdfast /run/holdfast 2>/dev/null; true',
        )
      expect(left().split('\n').toSorted()).toEqual(['/etc/holdfast', FILE, `${FILE}.example`])
      expect(installer('--uninstall', '--purge').output.trim()).toBe('holdfast is removed, with its configuration')
      expect([left(), machine().run('id', 'holdfast').status]).toEqual(['', 1])
    })
  })

  test('the installer refuses to install where the native addon does not load, also on a first install', () => {
    const broken = join(home, 'broken')
    ran(['cp', '-R', tarball, broken])
    writeFileSync(join(broken, 'native', 'prebuilds', `linux-${ARCH}`, 'holdfast.glibc.node'), 'no library')
    const into = join(home, 'broken-root')
    mkdirSync(into)
    const { status, stderr } = spawnSync(join(broken, 'install.sh'), ['--root', into], { encoding: 'utf8' })
    expect({ status, stderr }).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Cannot load the native addon'),
    })
    expect(stderr).toContain('Nothing was changed')
    expect(existsSync(join(into, 'opt', 'holdfast'))).toBe(false)
  })

  test('the installer refuses wrong options and a folder of another program', () => {
    const install = (...argv: string[]) => spawnSync(join(tarball, 'install.sh'), argv, { encoding: 'utf8' })
    expect(install('--prefix', 'opt')).toMatchObject({ status: 64, stderr: expect.stringContaining('absolute path') })
    expect(install('--purge')).toMatchObject({ status: 64, stderr: expect.stringContaining('goes with --uninstall') })
    expect(install('--frob')).toMatchObject({ status: 64, stderr: expect.stringContaining('usage:') })
    const foreign = join(home, 'image')
    mkdirSync(join(foreign, 'opt', 'holdfast'), { recursive: true })
    writeFileSync(join(foreign, 'opt', 'holdfast', 'theirs'), '')
    expect(install('--root', foreign)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('something else is there'),
    })
    expect(install('--root', foreign, '--uninstall')).toMatchObject({ status: 0 })
    expect(existsSync(join(foreign, 'opt', 'holdfast', 'theirs')), 'what is not ours stays').toBe(true)
  })
})
