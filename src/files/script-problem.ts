/**
 * Checks the programs of health checks and notifications on this node: whether they may run (VR-TRK-07), and as which
 * user. A program that another user can change is an error, because it would run with our rights; the configuration may
 * skip it or run it. A program that does not exist yet, or cannot be checked, is a warning, because it may come later.
 * Which program is safe is decided in healthcheck/programs/script-safety.ts.
 */
import { access, constants } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import { type LeftOut, withoutPrograms } from '../config/left-out.ts'
import { type Locate, type Path, type Problem, problemAt, type Severity } from '../config/problem.ts'
import { EVENTS as NOTIFY_EVENTS } from '../config/schema/notify.ts'
import { disks } from '../healthcheck/disk-queue.ts'
import { unsafeBecause } from '../healthcheck/programs/script-safety.ts'
import { userNamed } from '../healthcheck/programs/user.ts'

/** Time limit of a check in milliseconds. A disk that does not answer must not stop the start of a daemon. */
const PATIENCE = 1_000

/** A program that the configuration names. */
type NamedProgram = {
  readonly argv: readonly [string, ...string[]]
  readonly user: string | undefined
  readonly capabilities?: 'keep' | undefined
  readonly unsafe?: 'skip' | 'run' | undefined
  readonly leftOut: LeftOut
  /** End of a message about the program: the check, router or group that runs it. */
  readonly purpose: string
  readonly path: Path
  /** Path of the configuration keys for the user and the capabilities of the program. */
  readonly base: Path
  /** Start of the message if the user of the program does not exist. */
  readonly userMissing: string
}

type Judgement = { readonly problems: readonly Problem[]; readonly leftOut?: LeftOut }

export type JudgedConfig = {
  readonly problems: readonly Problem[]
  /** Configuration to put in force, without the programs that are skipped. */
  readonly config: Config
}

/** Returns the problems of all programs in a configuration. */
export const scriptProblems = async (config: Config, locate: Locate): Promise<readonly Problem[]> =>
  (await judgeScripts(config, locate)).problems

/** Returns the problems of all programs, and the configuration without programs that are skipped. */
export async function judgeScripts(config: Config, locate: Locate): Promise<JudgedConfig> {
  const found = [...checkPrograms(config), ...notifyPrograms(config)].map((program) =>
    within(PATIENCE, judged(program, locate), (): Judgement => {
      const message = `Cannot check whether ${program.argv[0]} is safe, ${program.purpose}: its disk has not answered for ${PATIENCE} ms`
      return { problems: [problemAt(locate, program.path, 'warning', message)] }
    }),
  )
  const judgements = await Promise.all(found)
  const leftOut = judgements.flatMap((each) => each.leftOut ?? [])
  return { problems: judgements.flatMap(({ problems }) => problems), config: withoutPrograms(config, leftOut) }
}

const checkPrograms = ({ healthchecks }: Config): readonly NamedProgram[] =>
  healthchecks.flatMap((check, index) => {
    if (check.kind !== 'probe' || check.spec.probe.kind !== 'exec') return []
    const { name, probe } = check.spec
    const base = ['healthchecks', index]
    return [
      {
        ...probe,
        leftOut: { kind: 'healthcheck', name },
        purpose: `for "${name}"`,
        path: [...base, 'exec', 0],
        base,
        userMissing: `check "${name}" cannot run`,
      },
    ]
  })

const notifyPrograms = ({ syncGroups, virtualRouters }: Config): readonly NamedProgram[] => {
  const sections = [
    { key: 'virtualRouters', entries: virtualRouters },
    { key: 'syncGroups', entries: syncGroups },
  ] as const
  return sections.flatMap(({ key, entries }) =>
    entries.flatMap(({ name, notify }, index) =>
      NOTIFY_EVENTS.flatMap((event) => {
        const argv = notify?.[event]
        if (argv === undefined) return []
        const base = [key, index, 'notify']
        const purpose = `for notifications of "${name}"`
        const userMissing = `Cannot run ${argv[0]}, ${purpose}`
        const path = [...base, event, 0]
        const { capabilities, unsafe, user } = notify ?? {}
        const leftOut: LeftOut = { kind: 'notify', section: key, name, event }
        return [{ argv, user, capabilities, unsafe, leftOut, purpose, path, base, userMissing }]
      }),
    ),
  )
}

async function judged(
  { argv, base, capabilities, leftOut, purpose, path, unsafe: wanted, user, userMissing }: NamedProgram,
  locate: Locate,
): Promise<Judgement> {
  const runsAs = user === undefined ? undefined : await userNamed(user)
  const problems: Problem[] = []
  if (runsAs === 'missing')
    problems.push(problemAt(locate, [...base, 'user'], 'warning', `${userMissing}: there is no user "${user}" here`))
  // The launcher applies the same rule about capabilities (native/launcher/privileges.c). The daemon may run as another
  // user than this command.
  else if (capabilities === 'keep' && runsAs !== undefined && ![0, process.geteuid?.()].includes(runsAs.uid)) {
    const message = `${argv[0]} gets no capabilities, ${purpose}, unless "${user}" is the user of the daemon`
    problems.push(problemAt(locate, [...base, 'capabilities'], 'warning', message))
  }
  const unsafe = await disks.ask(argv[0], () =>
    unsafeBecause(argv[0], typeof runsAs === 'object' ? runsAs.uid : undefined),
  )
  const say = (severity: Severity, message: string) =>
    problems.push(problemAt(locate, path, severity, `${message}, ${purpose}`))
  if (unsafe?.reason === 'scriptUnsafe' && wanted === 'skip') {
    say('warning', `Skipped ${argv[0]}: ${unsafe.why}`)
    return { problems, leftOut }
  }
  if (unsafe?.reason === 'scriptUnsafe' && wanted === 'run') say('warning', `Runs ${argv[0]}, although ${unsafe.why}`)
  else if (unsafe !== undefined) say(unsafe.reason === 'scriptUnsafe' ? 'error' : 'warning', unsafe.detail)
  else if (user === undefined && !(await isExecutable(argv[0]))) say('warning', `Cannot run ${argv[0]}: EACCES`)
  return { problems }
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
