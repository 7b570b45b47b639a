/**
 * Runs every sample of test/samples/keepalived on a node with the interface and addresses of its file. Real keepalived
 * and holdfast, each alone on its LAN, show the same table of instances in their dumps. The sample's scripts are
 * replaced by a script that passes, because no test machine has them. This file does not know the content of a sample
 * (test/unit/config/keepalived-samples.test.ts does).
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, type Host, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { describeInterop } from '../support/require.ts'

const SAMPLES = join(packageRoot(), 'test', 'samples', 'keepalived')
/** Limit in ms. keepalived waits 3 × interval + Skew_Time after its checks have passed; a busy machine takes longer. */
const WITHIN = { within: 40_000, every: 500 }

type Instance = Readonly<Record<string, string | readonly string[]>>

/** Keys of an instance that both daemons write. Of addresses and peers only the addresses are compared. */
const KEYS = ['VRRP Version', 'State', 'Interface', 'Virtual Router ID', 'Priority', 'Effective priority']

function instancesIn(dump: string): Record<string, Instance> {
  const found: Record<string, Instance> = {}
  for (const block of dump.split(/^ VRRP Instance = /m).slice(1)) {
    const [name = '', ...lines] = block.split(/^-{3,}/m, 1)[0]?.split('\n') ?? []
    const values = KEYS.map((key) => [key, lines.find((line) => line.startsWith(`   ${key} = `))?.split(' = ', 2)[1]])
    const below = (head: RegExp) => {
      const at = lines.findIndex((line) => head.test(line))
      const list = at < 0 ? [] : lines.slice(at + 1)
      const end = list.findIndex((line) => !line.startsWith('     '))
      return list.slice(0, end < 0 ? undefined : end).map((line) => line.trim().split(/[ /]/, 1)[0] ?? '')
    }
    found[name] = {
      ...Object.fromEntries(values),
      addresses: below(/^ {3}Virtual IP/),
      peers: below(/^ {3}Unicast Peer/).sort(),
    }
  }
  return found
}

type Node = { readonly folder: string; readonly file: string; readonly host: Host }

/** Creates an interface with the name in the file, with the source address of the file and an address in the network of its VIP. */
function nodeFor(lab: Lab, host: Host, sample: string, kind: string): Node {
  const text = readFileSync(join(SAMPLES, sample), 'utf8').replace(/^(\s*script ).*$/gm, '$1"/bin/true"')
  const [, link = 'eth0'] = /^\s*interface (\S+)/m.exec(text) ?? []
  const sources = [...text.matchAll(/^ *unicast_src_ip (\S+)/gm)].map(([, source = '']) => source)
  const own = [...new Set([...sources, '10.0.0.77', '192.168.111.20', 'fd2e:6f44:5dd8:c956::14'])]
  const at = (address: string) => `${address}/${address.includes(':') ? '64 nodad' : '24'}`
  // Two nodes have the same address, so each is alone on its side of the cable.
  ip(lab.bridge, `link set ${host.port} nomaster`)
  for (const command of ['link set eth0 down', `link set eth0 name ${link}`, `link set ${link} up`])
    lab.exec(host, ['ip', ...command.split(' ')])
  for (const address of own) {
    const [value = '', ...options] = at(address).split(' ')
    lab.exec(host, ['ip', 'address', 'add', value, 'dev', link, ...options])
  }
  const folder = join(lab.directory, `${kind}-${sample}`)
  mkdirSync(folder)
  const file = join(folder, 'keepalived.conf')
  writeFileSync(file, text)
  return { folder, file, host }
}

function start(lab: Lab, { folder, file, host }: Node, daemon: readonly string[]): LoggedProcess {
  // All namespaces share the folders of the machine, so each node gets a /run of its own.
  const script = 'mount -t tmpfs none /run && exec "$@"'
  const argv = [...daemon, '-f', file, '--dont-fork', '--vrrp', '--log-detail', '--log-console']
  return new LoggedProcess(lab, host, ['sh', '-c', script, 'sh', ...argv], { TMPDIR: folder })
}

/** Returns the table of instances when two dumps in a row are equal. */
async function table(node: Node, process: LoggedProcess): Promise<Record<string, Instance>> {
  const path = join(node.folder, 'keepalived.data')
  let found: Record<string, Instance> = {}
  // Before this line, the signal would end the process.
  await process.line(/Entering|Initialize/, WITHIN.within)
  await eventually(
    `${node.file} to be in force`,
    () => {
      // Every attempt requests a dump and reads the dump of the attempt before, because the daemon writes it late.
      if (existsSync(path)) found = instancesIn(readFileSync(path, 'utf8'))
      process.signal('SIGUSR1')
      const all = Object.values(found)
      return all.length > 0 && all.every(({ State }) => State === 'MASTER')
    },
    { sight: () => [found, process.lines.slice(-8).map(({ text }) => text)], ...WITHIN },
  )
  return found
}

describeInterop('a sample of a keepalived file', () => {
  const samples = readdirSync(SAMPLES).filter((name) => name.endsWith('.conf'))
  // All samples wait for the same few seconds, so they run together.
  test.concurrent.each(samples)(
    'has the same instances in holdfast as in keepalived: %s',
    { timeout: 120_000 },
    async (sample) => {
      const lab = createLab({ routers: 2, clients: [] })
      try {
        const [ours, theirs] = [
          nodeFor(lab, lab.router(1), sample, 'holdfast'),
          nodeFor(lab, lab.router(2), sample, 'keepalived'),
        ]
        const holdfast = start(lab, ours, [join(packageRoot(), 'bin', 'holdfast'), 'keepalived'])
        const keepalived = start(lab, theirs, ['keepalived'])
        const [mine, real] = await Promise.all([table(ours, holdfast), table(theirs, keepalived)])
        expect(Object.keys(mine).length, 'instances in the dump').toBeGreaterThan(0)
        expect(mine, 'instances in the dump of holdfast, compared with those of keepalived').toEqual(real)
      } finally {
        lab.destroy()
      }
    },
  )
})
