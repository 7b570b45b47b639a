/**
 * Containers of the image on a network of their own, each with its own virtual router, for the tests of the image and
 * of its builders. Decides their configuration, and that no container stays. This file does not know what the tests
 * check.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../src/lab/wait.ts'
import { docker, MADE_BY } from '../support/docker.ts'
import { IMAGE } from './build-image.ts'

export const MARK = ['--label', `${MADE_BY}=${process.pid}`]
const NETWORK = `hf-image-${process.pid}`
export const VIP = '198.18.60.100'
const CONFIG = '/etc/holdfast/holdfast.yaml'
export const READ_ONLY = ['--read-only', '--tmpfs', '/run', '--tmpfs', '/tmp']
export const SOON = { within: 20_000, every: 100 }

export const capabilities = (...names: string[]) => [
  '--cap-drop',
  'ALL',
  ...names.flatMap((name) => ['--cap-add', name]),
]
export const BOTH = capabilities('NET_ADMIN', 'NET_RAW')

export type Ran = { readonly status: number | null; readonly output: string }

/** Runs a command. Returns both streams and the exit status, which may be a failure. */
export function ran(...argv: string[]): Ran {
  const { status, stdout, stderr } = spawnSync('docker', argv, { encoding: 'utf8', timeout: 60_000 })
  return { status, output: `${stdout}${stderr}` }
}

/** A started container of the image. */
export class Running {
  readonly id: string

  constructor(id: string) {
    this.id = id
  }

  exec(...argv: string[]): Ran {
    return ran('exec', this.id, ...argv)
  }

  /** Returns a value of the container by `docker inspect`. */
  inspect(format: string): string {
    return docker(['inspect', '--format', format, this.id]).trim()
  }

  logs(): string {
    return ran('logs', this.id).output
  }

  signal(name: string): void {
    docker(['kill', '--signal', name, this.id])
  }

  async says(words: string): Promise<void> {
    await eventually(`"${words}" in the log`, () => this.logs().includes(words), { sight: () => this.logs(), ...SOON })
  }

  /** Reports whether the container's kernel has the address as a local address. */
  has(address: string): boolean {
    return new RegExp(`\\|-- ${address}\\n\\s+/32 host LOCAL`).test(this.exec('cat', '/proc/net/fib_trie').output)
  }

  async takesTheAddress(): Promise<void> {
    await eventually(`${VIP} on the interface`, () => this.has(VIP), { sight: () => this.logs(), ...SOON })
  }

  async exitStatus(): Promise<number> {
    await eventually('the container to end', () => this.inspect('{{.State.Running}}') === 'false', {
      sight: () => this.logs(),
      ...SOON,
    })
    return Number(this.inspect('{{.State.ExitCode}}'))
  }

  /** Returns the process id of the engine inside the container. */
  engine(): string {
    const found = this.exec('sh', '-c', 'grep -l "^PPid:.1$" $(grep -l "^Name:.node" /proc/[0-9]*/status)').output
    return /^\/proc\/(\d+)\//.exec(found)?.[1] ?? ''
  }
}

export class Containers {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-image-'))
  readonly #started: string[] = []
  #vrid = 0

  constructor() {
    docker(['network', 'create', '--internal', ...MARK, NETWORK])
  }

  /** Returns the mounts. Every container has a separate VRID, so that a leaving router affects no other container. */
  #mounts(interfaceName: string): string[] {
    this.#vrid += 1
    const router = {
      ...{ name: 'v1', vrid: this.#vrid, interface: interfaceName, priority: 200 },
      ...{ advertisementInterval: '100ms', addresses: [VIP] },
    }
    const file = join(this.folder, `holdfast-${this.#vrid}.yaml`)
    writeFileSync(file, JSON.stringify({ virtualRouters: [router] }), { mode: 0o644 })
    return ['--volume', `${file}:${CONFIG}:ro`]
  }

  start(options: readonly string[], image = IMAGE, argv: readonly string[] = [], interfaceName = 'eth0'): Running {
    const own = [...MARK, '--network', NETWORK, ...this.#mounts(interfaceName)]
    const id = docker(['run', '--detach', ...own, ...options, image, ...argv]).trim()
    this.#started.push(id)
    return new Running(id)
  }

  /** Removes the containers that were started so far. */
  remove(): void {
    for (const id of this.#started.splice(0)) docker(['rm', '--force', '--volumes', id])
  }

  destroy(): void {
    this.remove()
    docker(['network', 'rm', NETWORK])
    rmSync(this.folder, { recursive: true, force: true })
  }
}
