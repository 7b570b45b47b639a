/**
 * Runs the lab of docker-compose.yml as a Compose project of its own. This file decides which Compose is used (version
 * 2 if the machine has it), and that one lab runs at a time, because its subnet is fixed. No container of the lab
 * outlives this process for longer than until the next lab starts. This file does not know the faults.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../src/base/message-of.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { command, works } from './command.ts'

export const PREFIX = 'hflab'
const COMPOSES = { 2: ['docker', 'compose'], 1: ['docker-compose'] } as const
export type ComposeVersion = keyof typeof COMPOSES

/** Returns the newest Compose version of this machine, or the wanted one. Throws if the machine does not have it. */
export async function findCompose(wanted?: ComposeVersion): Promise<ComposeVersion> {
  for (const version of [2, 1] as const)
    if ((wanted ?? version) === version && (await works([...COMPOSES[version], 'version']))) return version
  const names = wanted === undefined ? 'neither "docker compose" nor "docker-compose"' : COMPOSES[wanted].join(' ')
  throw new Error(`Cannot find Compose: ${names} works here`)
}

function lives(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Removes the labs whose process has ended. Throws if another lab still runs. */
async function sweep(): Promise<void> {
  const filter = ['--filter', 'label=com.docker.compose.project', '--format', '{{.Label "com.docker.compose.project"}}']
  const found = await Promise.all([
    command(['docker', 'ps', '--all', ...filter]),
    command(['docker', 'network', 'ls', ...filter]),
  ])
  for (const project of new Set(found.join('\n').split('\n'))) {
    const pid = new RegExp(`^${PREFIX}(\\d+)$`).exec(project)?.[1]
    if (pid === undefined) continue
    if (lives(Number(pid))) throw new Error(`Cannot start a lab: that of process ${pid} runs, and there is one subnet`)
    for (const argv of removal(project)) execFileSync('sh', ['-c', argv], { stdio: 'ignore' })
  }
}

/**
 * Returns the commands that remove a Compose project by its labels. Compose itself is not used, because the project's
 * file may have been deleted.
 */
const removal = (project: string): readonly string[] => {
  const all = (what: string) => `docker ${what} --quiet --filter label=com.docker.compose.project=${project}`
  return [
    // `docker rm --force` also removes a paused container.
    `${all('ps --all')} | xargs -r docker rm --force --volumes`,
    `${all('network ls')} | xargs -r docker network rm`,
  ]
}

const projects = new Set<string>()
let hooked = false
/** Removes the Compose projects of this process. The function is synchronous, because an exit handler cannot wait. */
export function removeProjects(): void {
  for (const project of projects) {
    projects.delete(project)
    for (const line of removal(project)) {
      try {
        execFileSync('sh', ['-c', line], { stdio: ['ignore', 'ignore', 'inherit'], timeout: 60_000 })
      } catch (error) {
        process.stderr.write(`lab: Cannot remove ${project}: ${messageOf(error)}\n`)
      }
    }
  }
}
function hookExits(): void {
  if (hooked) return
  hooked = true
  process.on('exit', removeProjects)
  for (const [signal, status] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
    process.once(signal, () => {
      process.stderr.write(`\nlab: ${signal}, cleaning up\n`)
      removeProjects()
      process.exit(status)
    })
}

export type ProjectOptions = {
  readonly compose: ComposeVersion
  readonly env?: Readonly<Record<string, string>>
  readonly profiles?: readonly string[]
}

export class Project {
  readonly name = `${PREFIX}${process.pid}`
  readonly #compose: readonly string[]
  readonly #env: Readonly<Record<string, string>>
  readonly #containers = new Map<string, string>()

  static async create(options: ProjectOptions): Promise<Project> {
    await sweep()
    return new Project(options)
  }

  private constructor({ compose, env = {}, profiles = [] }: ProjectOptions) {
    const file = ['--file', join(packageRoot(), 'docker-compose.yml'), '--project-directory', packageRoot()]
    const active = profiles.flatMap((profile) => ['--profile', profile])
    this.#compose = [...COMPOSES[compose], ...file, '--project-name', this.name, ...active]
    this.#env = env
    projects.add(this.name)
    hookExits()
  }

  /** Runs Compose with these arguments, and prints Compose's messages unless `aloud` is false. */
  async compose(argv: readonly string[], aloud = true): Promise<string> {
    return command([...this.#compose, ...argv], { env: this.#env, aloud, within: 600_000 })
  }

  /** Returns the id of the service's container. A stop and a start do not change the id. */
  async container(service: string): Promise<string> {
    const known = this.#containers.get(service)
    if (known !== undefined) return known
    const id = (await this.compose(['ps', '--quiet', service], false)).trim().split('\n').at(-1) ?? ''
    if (id === '') throw new Error(`Cannot find the container of "${service}"`)
    this.#containers.set(service, id)
    return id
  }

  /** Runs a Docker command, given by its words, for the containers of these services. */
  async docker(words: readonly string[], services: readonly string[]): Promise<string> {
    return command(['docker', ...words, ...(await Promise.all(services.map((one) => this.container(one))))])
  }

  async exec(service: string, argv: readonly string[], options: readonly string[] = []): Promise<string> {
    return command(['docker', 'exec', ...options, await this.container(service), ...argv])
  }

  get lan(): string {
    return `${this.name}_lan`
  }

  async down(): Promise<void> {
    await this.compose(['down', '--volumes', '--remove-orphans', '--timeout', '15'])
    // Compose may leave containers behind. The next call removes such containers, as every other exit path does.
    removeProjects()
  }
}
