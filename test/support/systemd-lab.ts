/**
 * Builds a separate machine with systemd as PID 1: namespaces, an overlay over this machine's files, and a cgroup of
 * its own. After the test no part of the separate machine is left, and this machine stays unchanged. This file does not
 * know which programs are installed on the separate machine.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../src/lab/wait.ts'

const HIERARCHY = existsSync('/sys/fs/cgroup/cgroup.controllers') ? '/sys/fs/cgroup' : '/sys/fs/cgroup/systemd'
const SCRIPT = join(import.meta.dirname, 'systemd-lab.sh')
const NAMESPACES = ['--mount', '--pid', '--fork', '--net', '--uts', '--ipc', '--cgroup', '--kill-child']

export type Ran = { readonly status: number | null; readonly output: string }

export class SystemdLab {
  readonly #base = mkdtempSync(join(tmpdir(), 'holdfast-systemd-'))
  readonly #group = join(HIERARCHY, `hfsystemd${process.pid}x${Date.now()}`)
  readonly #process: ChildProcess
  readonly #said: string[] = []
  #manager = 0

  private constructor() {
    mkdirSync(this.#group)
    const argv = [join(this.#group, 'cgroup.procs'), 'unshare', ...NAMESPACES, 'sh', SCRIPT, this.#base]
    // The shell enters the cgroup before systemd starts, because systemd takes its own cgroup for the root of all
    // cgroups.
    this.#process = spawn('sh', ['-c', 'echo $$ >"$1" && shift && exec "$@"', 'sh', ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (bytes: Buffer) => this.#said.push(`${bytes}`))
    process.once('exit', () => this.destroy())
  }

  /** Starts the separate machine. Resolves when its systemd answers. */
  static async booted(): Promise<SystemdLab> {
    const lab = new SystemdLab()
    try {
      await eventually(
        'systemd to answer',
        () => lab.#find() && lab.run('systemctl', 'show', '--property=Version').status === 0,
        { sight: () => lab.#said.join(''), within: 20_000, every: 100 },
      )
      return lab
    } catch (error) {
      lab.destroy()
      throw error
    }
  }

  #find(): boolean {
    const { pid } = this.#process
    const children = pid === undefined ? '' : readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    this.#manager = Number(children.trim().split(' ')[0] ?? 0)
    return this.#manager > 0
  }

  /** Path on this machine of the separate machine's root folder. */
  get root(): string {
    return `/proc/${this.#manager}/root`
  }

  /**
   * Runs a command on the separate machine. Returns its standard output and standard error in the order of their
   * arrival.
   */
  run(...argv: string[]): Ran {
    const enter = ['-t', `${this.#manager}`, '--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--root']
    const { status, stdout, error } = spawnSync(
      'nsenter',
      [...enter, '--', 'sh', '-c', 'cd / && exec 2>&1 && exec "$@"', 'sh', ...argv],
      {
        encoding: 'utf8',
        timeout: 60_000,
        env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
      },
    )
    return { status, output: error === undefined ? stdout : `${stdout}${error.message}` }
  }

  /** Runs a command on the separate machine and returns its output. Throws if the command fails. */
  output(...argv: string[]): string {
    const { status, output } = this.run(...argv)
    if (status !== 0) throw new Error(`Cannot run ${argv.join(' ')} in the lab: exit status ${status}: ${output}`)
    return output.trim()
  }

  destroy(): void {
    this.#process.kill('SIGKILL')
    if (this.#manager > 0) spawnSync('kill', ['-9', `${this.#manager}`])
    // All processes of a PID namespace end with its first process, but some time after this call.
    for (let left = 50; left > 0 && !removeGroup(this.#group); left--) spawnSync('sleep', ['0.1'])
    rmSync(this.#base, { recursive: true, force: true })
  }
}

/** Removes a cgroup. Returns false while the cgroup still has processes or child cgroups. */
function removeGroup(path: string): boolean {
  if (!existsSync(path)) return true
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(path, entry.name))
  try {
    rmdirSync(path)
    return true
  } catch {
    return false
  }
}
