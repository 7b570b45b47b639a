/**
 * The programs that health checks run, judged on this node: whether they may be run at all (VR-TRK-07), and as whom.
 * Decided here: what another user could change is an error, because it would run with our rights; what is not there yet,
 * or cannot be known from here, is a warning, because it may come. Refuses to know what makes a program safe.
 */
import { access, constants } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import { type Locate, type Path, type Problem, problemAt, type Severity } from '../config/problem.ts'
import type { ExecSpec } from '../healthcheck/check.ts'
import { disks } from '../healthcheck/disk-queue.ts'
import { unsafeBecause } from '../healthcheck/script-safety.ts'
import { userNamed } from '../healthcheck/user.ts'

/** A disk that does not answer must not keep a daemon from starting. */
const PATIENCE = 1_000

export async function scriptProblems({ healthchecks }: Config, locate: Locate): Promise<readonly Problem[]> {
  const found = healthchecks.map((check, index) => {
    if (check.kind !== 'probe' || check.spec.probe.kind !== 'exec') return []
    const { name, probe } = check.spec
    return within(PATIENCE, judged(name, probe, ['healthchecks', index], locate), () => [
      problemAt(
        locate,
        ['healthchecks', index, 'exec', 0],
        'warning',
        `Cannot say whether ${probe.argv[0]} may be run, for "${name}": its disk has not answered for ${PATIENCE} ms`,
      ),
    ])
  })
  return (await Promise.all(found)).flat()
}

async function judged(name: string, { argv, user }: ExecSpec, path: Path, locate: Locate): Promise<Problem[]> {
  const runsAs = user === undefined ? undefined : await userNamed(user)
  const problems: Problem[] = []
  if (runsAs === 'missing')
    problems.push(
      problemAt(locate, [...path, 'user'], 'warning', `"${name}" is unknown: there is no user "${user}" here`),
    )
  const unsafe = await disks.ask(argv[0], () =>
    unsafeBecause(argv[0], typeof runsAs === 'object' ? runsAs.uid : undefined),
  )
  const say = (severity: Severity, message: string) =>
    problems.push(problemAt(locate, [...path, 'exec', 0], severity, `${message}, for "${name}"`))
  if (unsafe !== undefined) say(unsafe.reason === 'scriptUnsafe' ? 'error' : 'warning', unsafe.detail)
  else if (user === undefined && !(await isExecutable(argv[0]))) say('warning', `Cannot run ${argv[0]}: EACCES`)
  return problems
}

async function isExecutable(program: string): Promise<boolean> {
  try {
    await access(program, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function within<T>(ms: number, wanted: Promise<T>, otherwise: () => T): Promise<T> {
  let late: NodeJS.Timeout | undefined
  const timeout = new Promise<T>((resolve) => {
    late = setTimeout(() => resolve(otherwise()), ms)
  })
  try {
    return await Promise.race([wanted, timeout])
  } finally {
    clearTimeout(late)
  }
}
