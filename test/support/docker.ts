/**
 * Runs the Docker engine for tests. This file decides which engine can be used, and the mark on each object that a test
 * creates: a label with the process number of the test. The objects of ended tests are found by that mark and removed,
 * and nothing else is removed. This file does not know what runs in the containers.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/**
 * Name of the label on containers and networks. The value of the label is the number of the process that created them.
 */
export const MADE_BY = 'holdfast.made-by'

/** Without this variable, testcontainers starts a cleanup container, whose image the registry may not have. */
process.env.TESTCONTAINERS_RYUK_DISABLED = 'true'

/**
 * Runs a Docker command and returns its standard output. Throws with the error text of the command, or if the engine
 * has not answered after `within` ms.
 */
export function docker(argv: readonly string[], within = 60_000, input = ''): string {
  return execFileSync('docker', argv, {
    encoding: 'utf8',
    input,
    stdio: 'pipe',
    timeout: within,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
  })
}

let answers: boolean | undefined

/**
 * Returns true if a Docker engine answers. The engine is asked only once: it is started before the tests
 * (scripts/container-tests.sh) or not at all.
 */
export function engineAnswers(): boolean {
  if (answers === undefined) {
    try {
      docker(['version', '--format', '{{.Server.Version}}'], 10_000)
      answers = true
    } catch {
      answers = false
    }
  }
  return answers
}

const lines = (text: string): string[] => text.split('\n').filter(Boolean)

/** Removes the containers and networks that this process, or any ended process, has created. */
export function removeLeftovers(isOurs = (pid: string) => !existsSync(`/proc/${pid}`)): void {
  const marked = (kind: 'ps' | 'network') => {
    const all = kind === 'ps' ? ['ps', '--all'] : ['network', 'ls']
    const format = `{{.ID}} {{.Label "${MADE_BY}"}}`
    const found = lines(docker([...all, '--filter', `label=${MADE_BY}`, '--format', format]))
    return found.map((line) => line.split(' ')).flatMap(([id = '', pid = '']) => (isOurs(pid) ? [id] : []))
  }
  const containers = marked('ps')
  // A container with --rm that ends by itself is removed by Docker, which is no error here.
  for (const id of containers) quietly(['rm', '--force', '--volumes', id])
  for (const id of marked('network')) docker(['network', 'rm', id])
}

function quietly(argv: readonly string[]): void {
  try {
    docker(argv)
  } catch {
    // The container was removed already.
  }
}
