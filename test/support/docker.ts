/**
 * The Docker engine as tests use it. Decided here: what makes one usable, how what a test makes is marked (a label with the
 * pid of its process) and that what dead runs have left is removed by that mark, and nothing else. Refuses to know
 * what runs in the containers.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** On containers and networks; its value is the pid of the process that made them. */
export const MADE_BY = 'holdfast.made-by'

/** Without it testcontainers looks for an image of its own that sweeps, and that no registry may have. */
process.env.TESTCONTAINERS_RYUK_DISABLED = 'true'

/** Never hangs: an engine that does not answer in a minute is broken. Throws with what it complained of. */
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

/** Asked once: whoever starts an engine does so before the tests (scripts/container-tests.sh). */
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

/** Removes containers and networks of this process, or of any that is dead. */
export function removeLeftovers(isOurs = (pid: string) => !existsSync(`/proc/${pid}`)): void {
  const marked = (kind: 'ps' | 'network') => {
    const all = kind === 'ps' ? ['ps', '--all'] : ['network', 'ls']
    const format = `{{.ID}} {{.Label "${MADE_BY}"}}`
    const found = lines(docker([...all, '--filter', `label=${MADE_BY}`, '--format', format]))
    return found.map((line) => line.split(' ')).flatMap(([id = '', pid = '']) => (isOurs(pid) ? [id] : []))
  }
  const containers = marked('ps')
  // One that ends by itself with --rm is gone before its turn comes, which is as good.
  for (const id of containers) quietly(['rm', '--force', '--volumes', id])
  for (const id of marked('network')) docker(['network', 'rm', id])
}

function quietly(argv: readonly string[]): void {
  try {
    docker(argv)
  } catch {
    // Gone already.
  }
}
