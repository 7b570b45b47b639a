/**
 * The Docker engine as tests use it. This file decides what makes an engine usable, and the mark of each object that a
 * test makes (a label with the pid of its process). Objects of dead runs are removed by that mark, and nothing else is
 * removed. This file does not know what runs in the containers.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** Label on containers and networks; its value is the pid of the process that made them. */
export const MADE_BY = 'holdfast.made-by'

/** Without this, testcontainers starts a cleanup container, whose image the registry may not have. */
process.env.TESTCONTAINERS_RYUK_DISABLED = 'true'

/** Runs a command of Docker. Throws with its error output, also when the engine has not answered within a minute. */
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

/** Reports whether a Docker engine answers. Asked only once: an engine starts before the tests or never (scripts/container-tests.sh). */
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

/** Removes the containers and networks that this process, or any dead process, has made. */
export function removeLeftovers(isOurs = (pid: string) => !existsSync(`/proc/${pid}`)): void {
  const marked = (kind: 'ps' | 'network') => {
    const all = kind === 'ps' ? ['ps', '--all'] : ['network', 'ls']
    const format = `{{.ID}} {{.Label "${MADE_BY}"}}`
    const found = lines(docker([...all, '--filter', `label=${MADE_BY}`, '--format', format]))
    return found.map((line) => line.split(' ')).flatMap(([id = '', pid = '']) => (isOurs(pid) ? [id] : []))
  }
  const containers = marked('ps')
  // A container that ends by itself with --rm may be gone before its turn comes, which is as good.
  for (const id of containers) quietly(['rm', '--force', '--volumes', id])
  for (const id of marked('network')) docker(['network', 'rm', id])
}

function quietly(argv: readonly string[]): void {
  try {
    docker(argv)
  } catch {
    // The network is gone already.
  }
}
