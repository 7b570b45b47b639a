/**
 * The static pod that runs keepalived today, with holdfast in it under the name keepalived, beside a pod with real
 * keepalived. The two pods have the same script, the same file and the same commands. In the last test, holdfast is the
 * first process of a container. A pod has its own processes and its own /run; only its folder is read from outside.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import { familyOf, LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeNetns } from '../support/require.ts'

/** Optional parts of a configured address, for the dump. */
const EXCLUDED = 'virtual_ipaddress_excluded {\n        10.77.9.9/28\n        fd00:77::77\n    }'
const SUPPORT = join(packageRoot(), 'test', 'support')
const VIPS = ['10.77.0.100', '10.77.0.101'] as const
const CONTAINER = ['unshare', '--pid', '--mount', '--fork', '--kill-child', '--mount-proc']
/** Limits in ms for a busy machine. On a quiet machine all steps take a few seconds. */
const WITHIN = { within: 40_000, every: 100 }
const PATIENCE = 120_000

const instance = (name: string, vrid: number, priority: number, vip: string, interfaceName = 'eth0', more = '') => `
vrrp_instance ${name} {
    state BACKUP
    interface ${interfaceName}
    virtual_router_id ${vrid}
    priority ${priority}
    advert_int 1

    authentication {
        auth_type PASS
        auth_pass ostest_a
    }
    virtual_ipaddress {
        ${vip}/${more === '' ? '32' : '24 label eth0:v'}
    }
    ${more}
    track_script {
        chk_lb
    }
}
`
const file = (priority: number) => `
global_defs {
    enable_script_security
    script_user root
    max_auto_priority -1
}
vrrp_script chk_lb {
    script "/usr/bin/timeout 0.9 /usr/bin/true"
    interval 1
    weight 20
    rise 3
    fall 3
}
${instance('ostest_API_0', 14, priority, VIPS[0])}
${instance('ostest_INGRESS_0', 93, priority, VIPS[1], 'eth0', EXCLUDED)}
`

/** Returns the file with short intervals, so that elections are fast. */
const quick = (text: string) =>
  text.replaceAll('advert_int 1\n', 'version 3\n    advert_int 0.1\n').replaceAll(/ authentication \{[^}]*\}/g, '')

/** Keys of an instance in the dump, without the keys that only one of the daemons writes. */
const KEYS = ['VRRP Version', 'State', 'Wantstate', 'Interface', 'Using src_ip', 'Virtual Router ID', 'Priority']
const MORE_KEYS = ['Effective priority', 'Total priority', 'Advert interval', 'Preempt', 'Multicast address']

function instancesIn(dump: string): Record<string, Record<string, string>> {
  const found: Record<string, Record<string, string>> = {}
  for (const block of dump.split(/^ VRRP Instance = /m).slice(1)) {
    const [head = '', ...lines] = block.split(/^------</m, 1)[0]?.split('\n') ?? []
    const keys = [...KEYS, ...MORE_KEYS].flatMap((key) => {
      const line = lines.find((one) => one.startsWith(`   ${key} `))
      return line === undefined ? [] : [[key, line.slice(key.length + 3).replace(/^ = | (?=\S)/, '')] as const]
    })
    const at = lines.findIndex((line) => line.startsWith('   Virtual IP ('))
    const addresses = lines
      .slice(at)
      .filter((_, index, all) => all.slice(0, index + 1).every((one) => /^ {3}Virtual| dev /.test(one)))
    found[head] = { ...Object.fromEntries(keys), addresses: at < 0 ? '' : addresses.join('\n') }
  }
  return found
}

class Pod {
  readonly folder: string
  readonly host: Host
  readonly process: LoggedProcess

  /** Starts the pod. `argv` is the command of the container; by default the pod's script. */
  constructor(home: Lab, host: Host, daemon: string, argv?: readonly string[]) {
    this.host = host
    this.folder = join(home.directory, `pod-${host.name}`)
    mkdirSync(join(this.folder, 'tmp'), { recursive: true })
    this.process = new LoggedProcess(home, host, [...CONTAINER, ...(argv ?? ['bash', join(SUPPORT, 'pod.sh')])], {
      POD: this.folder,
      KEEPALIVED: daemon,
      LISTENER: `${process.execPath} ${join(SUPPORT, 'line-listener.mjs')}`,
      TMPDIR: join(this.folder, 'tmp'),
    })
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  write(text: string): void {
    writeFileSync(this.path('keepalived.conf'), text)
  }

  async say(...lines: readonly string[]): Promise<void> {
    await eventually(
      'the socket',
      () =>
        new Promise<boolean>((resolve) => {
          const client = connect(this.path('keepalived.sock'))
          client.once('error', () => resolve(false))
          client.once('connect', () => client.end(lines.map((line) => `${line}\n`).join(''), () => resolve(true)))
        }),
      { sight: () => this.tail(), ...WITHIN },
    )
  }

  /** Runs a command in the container, as kubectl exec or a probe does. */
  exec(command: string) {
    const first = familyOf(this.process.pid).at(1)
    if (first === undefined) return { status: null, stdout: '' }
    const argv = ['-t', String(first), '-p', '-m', '-n', 'bash', '-c', command]
    const { status, stdout } = spawnSync('nsenter', argv, {
      encoding: 'utf8',
      env: { ...process.env, POD: this.folder, TMPDIR: this.path('tmp') },
    })
    return { status, stdout: stdout.trim() }
  }

  /** Returns the dump of the container's oldest process with the name keepalived. */
  async dump(): Promise<string> {
    const { status } = this.exec(
      'rm -f "$TMPDIR/keepalived.data"; kill -s USR1 "$(pgrep -o keepalived)" && for i in $(seq 50); do test -s "$TMPDIR/keepalived.data" && exit 0; sleep 0.1; done; exit 1',
    )
    // keepalived writes the dump into the visible file, and may not have finished.
    if (status === 0) await sleep(20)
    return status === 0 ? readFileSync(this.path('tmp/keepalived.data'), 'utf8') : ''
  }

  async states(...wanted: readonly string[]): Promise<Record<string, Record<string, string>>> {
    let last = ''
    return eventually(
      `${this.host.name} to say ${wanted.join(' and ')} in its dump`,
      async () => {
        last = await this.dump()
        const found = instancesIn(last)
        const states = Object.values(found).map(({ State }) => State)
        return states.join() === wanted.join() && found
      },
      { sight: () => [last, ...this.tail()], ...WITHIN },
    )
  }

  tail(): readonly string[] {
    return this.process.lines.slice(-8).map(({ text }) => text)
  }

  holds(vip: string): boolean {
    return execFileSync('ip', ['-n', this.host.namespace, '-4', '-o', 'addr'], { encoding: 'utf8' }).includes(
      ` ${vip}/`,
    )
  }
}

/** Liveness probe of a control plane node's pod: a dump within 5 s, but only if a configuration exists. */
const LIVENESS = `[ ! -s "$POD/keepalived.conf" ] || { rm -f "$TMPDIR/keepalived.data"; kill -s SIGUSR1 "$(pgrep -o keepalived)" &&
  for i in $(seq 5); do grep -q "VRRP Instance" "$TMPDIR/keepalived.data" && exit 0; sleep 1; done; exit 1; }`
/** Liveness probe of the bootstrap node's pod: no instance is in fault. */
const BOOTSTRAP_LIVENESS = `kill -s SIGUSR1 "$(pgrep -o keepalived)" && ! grep -q "State = FAULT" "$TMPDIR/keepalived.data"`

describeNetns('a static pod', () => {
  test(
    'with holdfast takes the same commands, probes and stop as the pod with keepalived beside it',
    async () => {
      const home = labOfTest({ routers: 2 })
      const link = join(home.directory, 'sbin', 'keepalived')
      mkdirSync(join(home.directory, 'sbin'))
      symlinkSync(join(packageRoot(), 'bin', 'holdfast'), link)
      const ours = new Pod(home, home.router(1), link)
      const theirs = new Pod(home, home.router(2), '/usr/sbin/keepalived')

      await Promise.all([ours.say(''), theirs.say('')])
      for (const pod of [ours, theirs]) {
        expect(pod.exec(LIVENESS).status, 'exit status of the liveness probe without a configuration file').toBe(0)
        expect(pod.exec('pgrep keepalived').status, 'exit status of pgrep before the first configuration').toBe(1)
      }

      ours.write(file(60))
      theirs.write(file(40))
      await Promise.all([ours.say('reload'), theirs.say('reload')])
      // A monitor may send a signal too early: the process has its name, and no signal handler yet.
      await eventually('a process of the name', () => ours.exec('pgrep -o keepalived').status === 0, {
        sight: () => ours.tail(),
        ...WITHIN,
      })
      await ours.say('reload', 'reload')

      const [mine, real] = [await ours.states('MASTER', 'MASTER'), await theirs.states('BACKUP', 'BACKUP')]
      expect(VIPS.map((vip) => [ours.holds(vip), theirs.holds(vip)])).toEqual([
        [true, false],
        [true, false],
      ])
      // The instances must be the same, except for the differences between the two nodes.
      const common = (table: typeof mine) =>
        Object.entries(table).map(([name, { State, Wantstate, Priority, ...rest }]) => {
          const { 'Using src_ip': _source, 'Effective priority': _effective, 'Total priority': _total, ...same } = rest
          return [
            name,
            Object.fromEntries(Object.entries(same).map(([key, value]) => [key, value.replace(/ set$/gm, '')])),
          ]
        })
      expect(common(mine)).toEqual(common(real))
      expect(mine.ostest_API_0).toMatchObject({
        'Using src_ip': '10.77.0.11',
        Priority: '60',
        'Effective priority': '80',
      })
      expect(real.ostest_API_0).toMatchObject({
        'Using src_ip': '10.77.0.12',
        Priority: '40',
        'Effective priority': '60',
      })

      // The process that pgrep finds by its name must be the process that handles the signals.
      expect(ours.exec('test "$(pgrep -o keepalived)" = "$(pidof keepalived)" && cat /run/keepalived.pid').stdout).toBe(
        ours.exec('pgrep -o keepalived').stdout,
      )
      for (const pod of [ours, theirs]) {
        expect(pod.exec(LIVENESS).status, `liveness of ${pod.host.name}`).toBe(0)
        expect(pod.exec(BOOTSTRAP_LIVENESS).status, `bootstrap liveness of ${pod.host.name}`).toBe(0)
      }
      const statistics = (pod: Pod) => {
        pod.exec('kill -s USR2 "$(pgrep -o keepalived)"; sleep 0.5')
        return readFileSync(pod.path('tmp/keepalived.stats'), 'utf8').replace(/\d+/g, 'N')
      }
      expect(statistics(ours)).toBe(statistics(theirs))

      // A wrong file changes nothing. A later right file changes the configuration.
      ours.write(`${file(60)}\nvrrp_instance X {`)
      await ours.say('reload')
      await eventually(
        'the log to say that the configuration in force is kept',
        () => ours.process.lines.some(({ text }) => text.includes('the configuration in force is kept')),
        { sight: () => ours.tail(), ...WITHIN },
      )
      await ours.states('MASTER', 'MASTER')
      ours.write(file(70))
      await ours.say('reload')
      await eventually('priority 70', async () => instancesIn(await ours.dump()).ostest_API_0?.Priority === '70', {
        sight: () => ours.tail(),
        ...WITHIN,
      })

      // The limit is far below the 65 s of a pod. SIGTERM comes twice, as from a pod's script and its kubelet.
      const before = performance.now()
      await ours.say('stop', 'stop')
      await eventually('its end', () => ours.exec('pgrep keepalived').status === 1, {
        sight: () => ours.tail(),
        ...WITHIN,
      })
      expect(performance.now() - before).toBeLessThan(10_000)
      await theirs.states('MASTER', 'MASTER')
      expect(VIPS.map((vip) => [ours.holds(vip), theirs.holds(vip)])).toEqual([
        [false, true],
        [false, true],
      ])
      expect([existsSync(ours.path('stopped')), ours.exec('ls /run/*.pid').stdout]).toEqual([true, ''])
    },
    PATIENCE,
  )

  test(
    'whose first process is holdfast has the control socket of the pod, and remembers a stop',
    async () => {
      const home = labOfTest({ routers: 1 })
      const host = home.router(1)
      const link = join(home.directory, 'keepalived')
      symlinkSync(join(packageRoot(), 'bin', 'holdfast'), link)
      const argv = [
        'sh',
        '-c',
        // A monitor expects the socket at /var/run/keepalived/keepalived.sock, which is in a volume of the pod.
        `mount -t tmpfs none /run && mkdir /run/keepalived && mount --bind "$POD" /run/keepalived &&
         exec ${link} -nPDl -f "$POD/keepalived.conf"`,
      ]
      const first = new Pod(home, host, link, argv)
      // Without a configuration file, the pod is alive, and the dump has no instance and no fault.
      await first.say('')
      expect(await first.dump()).toContain('------< Global definitions >------')
      expect(first.exec(BOOTSTRAP_LIVENESS).status).toBe(0)

      // The daemon waits for an interface that is created later.
      first.write(quick(file(60)).replace('interface eth0', 'interface late0'))
      await first.say('reload')
      await first.states('FAULT', 'BACKUP')
      execFileSync('ip', ['-n', host.namespace, 'link', 'add', 'late0', 'type', 'veth', 'peer', 'name', 'late1'])
      execFileSync('ip', ['-n', host.namespace, 'link', 'set', 'late1', 'up'])
      execFileSync('ip', ['-n', host.namespace, 'link', 'set', 'late0', 'up'])
      execFileSync('ip', ['-n', host.namespace, 'addr', 'add', '10.78.0.11/24', 'dev', 'late0'])
      await first.states('MASTER', 'MASTER')

      // The stop must be remembered: a restarted container must not get the addresses back.
      await first.say('stop')
      await eventually('no addresses', () => !VIPS.some((vip) => first.holds(vip)), {
        sight: () => first.tail(),
        ...WITHIN,
      })
      expect(instancesIn(await first.dump())).toEqual({})
      expect(existsSync(first.path('stopped'))).toBe(true)
      first.process.killFamily()
      await first.process.exited
      const again = new Pod(home, host, link, argv)
      await again.say('')
      expect([instancesIn(await again.dump()), VIPS.some((vip) => again.holds(vip))]).toEqual([{}, false])

      // A deleted configuration file does not order the daemon to leave.
      await again.say('reload')
      await again.states('MASTER', 'MASTER')
      expect(existsSync(again.path('stopped'))).toBe(false)
      rmSync(again.path('keepalived.conf'))
      await again.say('reload')
      await eventually(
        'the log to say that the file is missing',
        () => again.process.lines.some(({ text }) => text.includes('there is no such file')),
        { sight: () => again.tail(), ...WITHIN },
      )
      await again.states('MASTER', 'MASTER')
      expect(again.exec('kill -TERM "$(pgrep -o keepalived)"').status).toBe(0)
      expect(await again.process.exited).toMatchObject({ code: 0 })
      expect(VIPS.some((vip) => again.holds(vip))).toBe(false)
    },
    PATIENCE,
  )
})
