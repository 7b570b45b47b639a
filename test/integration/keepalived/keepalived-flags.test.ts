/**
 * keepalived's command line: each flag of 2.2.7 has its handling, and every spelling of a flag is read as getopt reads
 * it.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FLAGS, keepalivedHelp, keepalivedOrder, SIGNALS } from '../../../src/keepalived/flags.ts'

/** Every flag that `keepalived --help` of 2.2.7 names. */
const OF_2_2_7 = [
  ...['-f --use-file', '-P --vrrp', '-C --check', '-B --no_bfd', '--all', '-l --log-console', '-D --log-detail'],
  ...['-S --log-facility', '-G --no-syslog', '-u --umask', '-X --release-vips', '-V --dont-release-vrrp'],
  ...['-I --dont-release-ipvs', '-R --dont-respawn', '-n --dont-fork', '-d --dump-conf', '-p --pid', '-r --vrrp_pid'],
  ...['-T --genhash', '-c --checkers_pid', '-a --address-monitoring', '-b --bfd_pid', '-x --snmp'],
  ...['-A --snmp-agent-socket', '-s --namespace', '-m --core-dump', '-M --core-dump-pattern', '-e --all-config'],
  ...['-i --config-id', '--signum', '-t --config-test', '-v --version', '-h --help'],
]

const RUN = {
  do: 'run',
  file: '/etc/keepalived/keepalived.conf',
  background: true,
  pidFile: undefined,
  vrrpPidFile: undefined,
  core: false,
  force: false,
  socket: undefined,
  warnings: [],
  configId: undefined,
  allFiles: false,
  api: {},
}

describe('the table', () => {
  test.each(OF_2_2_7)('%s has a handling and a sentence', (words) => {
    const long = words.replace(/^.*--/, '')
    const short = /^-(\w) /.exec(words)?.[1]
    const flag = FLAGS.find((one) => one.long === long)
    expect(flag).toMatchObject({ long, ...(short === undefined ? {} : { short }) })
    expect(flag?.says.length).toBeGreaterThan(10)
    expect(keepalivedHelp()).toContain(`--${long}`)
  })

  test('each flag is in the table once', () => {
    const names = FLAGS.flatMap(({ short, long }) => (short === undefined ? [long] : [long, short]))
    expect(new Set(names).size).toBe(names.length)
  })

  test.skipIf(spawnSync('keepalived', ['--version']).status !== 0)(
    'the keepalived of this machine has no other',
    () => {
      const { stdout, stderr } = spawnSync('keepalived', ['--help'], { encoding: 'utf8' })
      const named = [...`${stdout}${stderr}`.matchAll(/^ +(?:-\w, )?--([\w-]+)/gm)].map(([, long]) => long)
      expect(named.length).toBeGreaterThan(25)
      expect(named.filter((long) => !FLAGS.some((flag) => flag.long === long))).toEqual([])
    },
  )
})

describe('an order', () => {
  test.each([
    // The flags of a static pod, in every way that they can be written.
    ['-f /x --dont-fork --vrrp --log-detail --log-console', { file: '/x', background: false }],
    ['-nPDlf /x', { file: '/x', background: false }],
    ['-nPDlf/x', { file: '/x', background: false }],
    ['--use-file=/x -n', { file: '/x', background: false }],
    ['--use-file /x', { file: '/x' }],
    ['', {}],
    ['-D --pid=/a -r /b', { pidFile: '/a', vrrpPidFile: '/b' }],
    ['-m -i east -e --force', { core: true, configId: 'east', allFiles: true, force: true }],
    ['-n --keepalived-socket /s', { background: false, socket: '/s' }],
    ['-S 7 -u 022 -G -X -I -R -B --all -c /c -b/d', {}],
    ['-PC', {}],
  ])('"%s"', (line, wanted) => {
    const order = keepalivedOrder(line.split(' ').filter((word) => word !== ''))
    if (line === '-PC') expect(order).toMatchObject({ do: 'run', warnings: [expect.stringContaining('-C, --check')] })
    else expect(order).toEqual({ ...RUN, ...wanted })
  })

  test('missing features give a warning, and harmless flags do not', () => {
    const order = keepalivedOrder(['-V', '-d', '-x', '-A', 'unix:/x', '-M', '-a', '-D', '-X'])
    expect(order.do === 'run' && order.warnings.map((line) => line.split(':', 1)[0])).toEqual([
      '-V, --dont-release-vrrp',
      '-d, --dump-conf',
      '-x, --snmp',
      '-A, --snmp-agent-socket',
      '-M, --core-dump-pattern',
      '-a, --address-monitoring',
    ])
  })

  test.each([
    [['-t'], { do: 'test', file: '/etc/keepalived/keepalived.conf', log: undefined }],
    [['-tlog', '-f', 'x', '-e'], { do: 'test', file: 'x', log: 'log', allFiles: true }],
    [['--config-test=log', '-f', 'x', '-n', '-i', 'id'], { do: 'test', file: 'x', log: 'log', configId: 'id' }],
    // keepalived 2.2.7 takes the sign `=` for a part of the name, which no user wants.
    [['-t=log'], { do: 'test', log: '=log' }],
    [['-v', '-f', 'x'], { do: 'version' }],
    [['--help'], { do: 'help' }],
    [['--signum=DATA'], { do: 'signum', name: 'DATA' }],
    [['--signum', 'JSON'], { do: 'signum', name: 'JSON' }],
  ])('%j', (argv, wanted) => {
    expect(keepalivedOrder(argv)).toMatchObject(wanted)
  })

  test("flags of the API replace keys that keepalived's file does not have", () => {
    const argv = ['-n', '--listen=10.0.0.11:9655', '--public', '--metrics-compat', 'keepalived-exporter']
    const listen = { host: '10.0.0.11', port: 9_655 }
    expect(keepalivedOrder(argv)).toMatchObject({ api: { listen, public: true, metricsCompat: 'keepalived-exporter' } })
    expect(keepalivedOrder(['--listen=false'])).toMatchObject({ api: { listen: false } })
    const said = keepalivedOrder(['--metrics-compat=none'])
    expect(said.do === 'run' && said.api, 'the rest is as the file has it').toEqual({ metricsCompat: 'none' })
  })

  test.each([
    [['-Z'], 'Unknown option -Z'],
    [['-nZ'], 'Unknown option -Z'],
    [['--bogus'], 'Unknown option --bogus'],
    [['--dont'], 'Unknown option --dont'],
    [['--vrrp=1'], 'The option --vrrp takes no value'],
    [['-f'], 'Missing value for option -f'],
    [['--pid'], 'Missing value for option --pid'],
    [['-n', 'x'], 'arguments: cannot use "x", expected flags only'],
    [['-s', 'blue'], 'ip netns exec NAME'],
    [['-C'], 'holdfast does not check virtual servers'],
    [['-T'], 'holdfast has no genhash'],
    [['--listen', '9655'], '--listen: cannot use "9655", expected an IP address and a port'],
    [['--listen=0.0.0.0:9655'], '--listen: cannot use "0.0.0.0", expected a loopback address'],
    [['--metrics-compat=other'], '--metrics-compat: cannot use "other", expected none or keepalived-exporter'],
  ])('%j is refused: %s', (argv, message) => {
    expect(keepalivedOrder(argv)).toEqual({ do: 'refuse', message: expect.stringContaining(message) })
  })
})

test('--signum knows the signals that the daemon takes', () => {
  expect(SIGNALS).toEqual({ STOP: 15, RELOAD: 1, DATA: 10, STATS: 12 })
})

test('docs/pod-contract.md has the table of flags', () => {
  const words = {
    done: 'done',
    noEffect: 'without effect',
    notSupported: 'not supported, with a warning',
    refused: 'refused',
  }
  const rows = FLAGS.map(({ short, long, value, handling, says }) => {
    const ending = value === undefined ? '' : value === 'wanted' ? '=VALUE' : '[=VALUE]'
    return `| \`${short === undefined ? '' : `-${short}, `}--${long}${ending}\` | ${words[handling]} | ${says} |`
  })
  const table = ['| flag | handling | what holdfast does |', '| --- | --- | --- |', ...rows].join('\n')
  const page = readFileSync(join(import.meta.dirname, '../../../docs/pod-contract.md'), 'utf8')
  expect(page.slice(page.indexOf('| flag |')).trimEnd()).toBe(table)
})
