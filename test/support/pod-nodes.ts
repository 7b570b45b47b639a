/**
 * Runs nodes with one static pod each, without a kubelet: podman runs the pod's manifest in the network namespace of a
 * host of the lab. This file decides those parts of a manifest that belong to a node (images, addresses, places of its
 * folders). No container and no storage of podman is left after destroy(). This file does not know what the pods do.
 *
 * nsenter starts podman, because `ip netns exec` remounts /sys. runc runs the containers, because crun does not support
 * hybrid cgroups. Resource limits are below the hard limits, because not every test machine has CAP_SYS_RESOURCE.
 * Without systemd, podman starts no probe by itself.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Container, Pod } from 'kubernetes-types/core/v1.js'
import { parse, stringify } from 'yaml'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host } from '../../src/lab/lab.ts'
import { monotonicMs } from '../../src/lab/wait.ts'
import { docker } from './docker.ts'

const PREFIX = 'hfpods'
const MINUTE = 60_000
const CONFIGURATION = `[containers]
default_ulimits = ["nofile=8192:8192", "nproc=8192:8192"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
`

const linesOf = (text: string) => text.split('\n').filter(Boolean)

function messageOf(error: unknown): string {
  return error instanceof Error && 'stderr' in error ? `${error.stderr}`.trim() || error.message : String(error)
}

/** Runs a command. Throws with the command's error text, or after `within` milliseconds. */
function run(argv: readonly string[], env: NodeJS.ProcessEnv = process.env, within = MINUTE): string {
  const [file = '', ...rest] = argv
  try {
    return execFileSync(file, rest, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
      timeout: within,
      killSignal: 'SIGKILL',
    })
  } catch (error) {
    throw new Error(`Cannot run "${argv.join(' ')}": ${messageOf(error)}`, { cause: error })
  }
}

const podmanIn = (base: string): readonly string[] => [
  ...['podman', '--root', join(base, 'root'), '--runroot', join(base, 'run')],
  ...['--runtime', 'runc', '--storage-driver', 'overlay', '--log-level', 'fatal'],
]
const environmentIn = (base: string) => ({ ...process.env, CONTAINERS_CONF: join(base, 'containers.conf') })

/** Number of attempts to remove a pod. podman repairs its own records between two attempts. */
const REMOVALS = 10

function removeStorage(base: string): void {
  try {
    run([...podmanIn(base), 'pod', 'rm', '--all', '--force', '--time', '0'], environmentIn(base))
  } catch {
    // The code below removes the rest.
  }
  const mounts = linesOf(readFileSync('/proc/self/mountinfo', 'utf8')).map((line) => line.split(' ')[4] ?? '')
  for (const place of mounts.filter((one) => one.startsWith(`${base}/`)).toReversed()) run(['umount', '-l', place])
  rmSync(base, { recursive: true, force: true })
}

/** Removes the containers and files that killed test runs have left. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)x`).exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeStorage(join(tmpdir(), name))
  }
}

/** One podman for all nodes. Every pod uses the network namespace in which its podman command runs. */
export class PodNodes {
  readonly base: string
  readonly #onExit = () => this.destroy()

  /** Creates podman's storage with these images of the Docker engine. */
  constructor(images: readonly string[]) {
    sweep()
    this.base = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}x`))
    process.once('exit', this.#onExit)
    writeFileSync(join(this.base, 'containers.conf'), CONFIGURATION)
    const archive = join(this.base, 'images.tar')
    docker(['save', '--output', archive, ...images], 2 * MINUTE)
    this.podman(undefined, ['load', '--quiet', '--input', archive], 2 * MINUTE)
    rmSync(archive)
  }

  podman(host: Host | undefined, argv: readonly string[], within = MINUTE): string {
    const enter = host === undefined ? [] : ['nsenter', `--net=/run/netns/${host.namespace}`, '--']
    return run([...enter, ...podmanIn(this.base), ...argv], environmentIn(this.base), within).trim()
  }

  /**
   * Prepares a manifest for the node on this host. `edit` makes the changes that the manifest's comments ask an
   * operator to make.
   */
  node(host: Host, manifest: string, edit: (text: string) => string): PodNode {
    const text = readFileSync(join(packageRoot(), 'deploy', 'static-pod', manifest), 'utf8')
    return new PodNode(this, host, parse(edit(text)))
  }

  /** Removes all pods together. Must be called before the LAN that the pods use is removed. */
  removePods(): void {
    for (let left = REMOVALS; ; left--) {
      try {
        this.podman(undefined, ['pod', 'rm', '--all', '--force', '--time', '0'])
        break
      } catch (error) {
        // A container that ends by itself at this moment can neither be killed nor removed: podman reports "container
        // state improper".
        if (left <= 1) throw error
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
      }
    }
    rmSync(join(this.base, 'nodes'), { recursive: true, force: true })
  }

  destroy(): void {
    process.off('exit', this.#onExit)
    if (existsSync(this.base)) removeStorage(this.base)
  }
}

export class PodNode {
  readonly host: Host
  readonly pod: string
  readonly #nodes: PodNodes
  readonly #folder: string
  readonly #manifest: string

  constructor(nodes: PodNodes, host: Host, pod: Pod) {
    this.#nodes = nodes
    this.host = host
    this.#folder = join(nodes.base, 'nodes', host.name)
    this.pod = `${pod.metadata?.name}-${host.name}`
    // All nodes are this machine. Each node has its own place for its folders, and its name is part of the names of its
    // pod and volumes. The root folder of the machine is the same for all nodes, because a program of the machine needs
    // its libraries.
    const nameOf = (volume: string) => `${volume}-${host.name}`
    const volumes = pod.spec?.volumes?.map(({ name, hostPath, ...rest }) =>
      hostPath === undefined
        ? { name: nameOf(name), ...rest }
        : {
            name: nameOf(name),
            hostPath: { ...hostPath, path: hostPath.path === '/' ? '/' : this.path(hostPath.path) },
          },
    )
    const mounted = (containers: readonly Container[] = []) =>
      containers.map((container) => ({
        ...container,
        volumeMounts: container.volumeMounts?.map((mount) => ({ ...mount, name: nameOf(mount.name) })),
      }))
    // With this annotation, an init container runs at each start of the pod, as with kubelet. Version 4.3 of podman
    // would otherwise remove an ended init container, and fail if that happens too early.
    const annotations = { ...pod.metadata?.annotations, 'io.podman.annotations.init.container.type': 'always' }
    this.#manifest = join(this.#folder, 'pod.yaml')
    mkdirSync(this.#folder, { recursive: true })
    const { spec } = pod
    writeFileSync(
      this.#manifest,
      stringify({
        ...pod,
        metadata: { ...pod.metadata, name: this.pod, annotations },
        spec: {
          ...spec,
          volumes,
          initContainers: mounted(spec?.initContainers),
          containers: mounted(spec?.containers),
        },
      }),
    )
  }

  /** Returns the path on this machine for a path on the node. */
  path(path: string): string {
    return join(this.#folder, 'root', path)
  }

  write(path: string, text: string, mode = 0o644): void {
    mkdirSync(dirname(this.path(path)), { recursive: true })
    writeFileSync(this.path(path), text, { mode })
  }

  /**
   * Starts the pod. Real nodes have a container runtime each. In this test the nodes share one runtime, and their
   * starts wait for each other as little as possible.
   */
  start(): Promise<void> {
    return this.#later(['play', 'kube', '--network', 'host', this.#manifest])
  }

  container(name: string): string {
    return `${this.pod}-${name}`
  }

  /** Kills all processes of the pod together. No supervisor restarts them. Returns the time in ms. */
  kill(): number {
    const at = monotonicMs()
    this.#nodes.podman(this.host, ['pod', 'kill', this.pod])
    return at
  }

  startAgain(): void {
    this.#nodes.podman(this.host, ['pod', 'start', this.pod])
  }

  /**
   * Sends SIGTERM to the pod's containers and waits for the grace period of the manifest. Resolves when the containers
   * have ended.
   */
  stop(): Promise<void> {
    return this.#later(['pod', 'stop', '--time', '65', this.pod])
  }

  #later(argv: readonly string[]): Promise<void> {
    const { base } = this.#nodes
    const [file = '', ...rest] = [
      'nsenter',
      `--net=/run/netns/${this.host.namespace}`,
      '--',
      ...podmanIn(base),
      ...argv,
    ]
    return new Promise((resolve, reject) => {
      execFile(
        file,
        rest,
        { env: environmentIn(base), timeout: 2 * MINUTE, killSignal: 'SIGKILL' },
        (error, _, said) =>
          error === null ? resolve() : reject(new Error(`Cannot ${argv.join(' ')}: ${said}${error.message}`)),
      )
    })
  }

  /** Returns podman's record of a container that was created. */
  inspect(container: string): Readonly<Record<string, unknown>> {
    return JSON.parse(this.#nodes.podman(this.host, ['container', 'inspect', this.container(container)]))[0]
  }

  /** Returns the process number of the container's first process. */
  pid(container: string): number {
    return Number(
      this.#nodes.podman(this.host, ['container', 'inspect', '--format', '{{.State.Pid}}', this.container(container)]),
    )
  }

  /** Runs a command in the container. Returns the command's output, and in `ok` whether the command succeeded. */
  exec(container: string, ...argv: readonly string[]): { readonly ok: boolean; readonly said: string } {
    return this.#judged(['exec', this.container(container), ...argv])
  }

  /** Runs the liveness probe of the manifest once. Returns true if it succeeded. */
  live(container: string): boolean {
    return this.#judged(['healthcheck', 'run', this.container(container)]).ok
  }

  #judged(argv: readonly string[]) {
    try {
      return { ok: true, said: this.#nodes.podman(this.host, argv) }
    } catch (error) {
      return { ok: false, said: String(error) }
    }
  }

  log(container: string): string[] {
    return linesOf(this.#nodes.podman(this.host, ['logs', '--tail', '15', this.container(container)]))
  }

  /**
   * Returns the memory of the container in bytes as kubelet counts it: the memory of the container's cgroup, without
   * the part that the kernel can free immediately.
   */
  workingSet(container: string): number {
    const [version, , group] = (
      linesOf(readFileSync(`/proc/${this.pid(container)}/cgroup`, 'utf8')).find((line) => line.includes(':memory:')) ??
      '0::'
    ).split(':')
    const folder = version === '0' ? `/sys/fs/cgroup${group}` : `/sys/fs/cgroup/memory${group}`
    const read = (name: string) => readFileSync(join(folder, name), 'utf8')
    const used = Number(read(version === '0' ? 'memory.current' : 'memory.usage_in_bytes'))
    const inactive = /^(?:total_)?inactive_file (\d+)$/m
    const droppable = (version === '0' ? inactive : /^total_inactive_file (\d+)$/m).exec(read('memory.stat'))?.[1]
    return used - Number(droppable)
  }
}
