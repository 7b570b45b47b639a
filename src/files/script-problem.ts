/**
 * The programs that health checks and notifications run, judged on this node: whether they may be run at all (VR-TRK-07), and as whom.
 * Decided here: what another user could change is an error, because it would run with our rights, unless the configuration
 * says that it is left out or run all the same; what is not there yet, or cannot be known from here, is a warning, because
 * it may come. Refuses to know what makes a program safe.
 */
import { access, constants } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import { type LeftOut, withoutPrograms } from '../config/left-out.ts'
import { type Locate, type Path, type Problem, problemAt, type Severity } from '../config/problem.ts'
import { EVENTS as NOTIFY_EVENTS } from '../config/schema/notify.ts'
import { disks } from '../healthcheck/disk-queue.ts'
import { unsafeBecause } from '../healthcheck/programs/script-safety.ts'
import { userNamed } from '../healthcheck/programs/user.ts'

/** A disk that does not answer must not keep a daemon from starting. */
const PATIENCE = 1_000

/** One of those that the configuration names. */
type NamedProgram = {
  readonly argv: readonly [string, ...string[]]
  readonly user: string | undefined
  readonly capabilities?: 'keep' | undefined
  readonly unsafe?: 'skip' | 'run' | undefined
  readonly leftOut: LeftOut
  /** As the end of a sentence: of whom it is. */
  readonly owner: string
  readonly path: Path
  /** Where its user and its capabilities stand. */
  readonly base: Path
  /** What it means that there is no such user. */
  readonly userMissing: string
}

type Judgement = { readonly problems: readonly Problem[]; readonly leftOut?: LeftOut }

export type JudgedConfig = {
  readonly problems: readonly Problem[]
  /** To put in force: without the programs that are to be left out. */
  readonly config: Config
}

export const scriptProblems = async (config: Config, locate: Locate): Promise<readonly Problem[]> =>
  (await judgeScripts(config, locate)).problems

export async function judgeScripts(config: Config, locate: Locate): Promise<JudgedConfig> {
  const found = [...checkPrograms(config), ...notifyPrograms(config)].map((program) =>
    within(PATIENCE, judged(program, locate), (): Judgement => {
      const message = `Cannot say whether ${program.argv[0]} may be run, ${program.owner}: its disk has not answered for ${PATIENCE} ms`
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
        owner: `for "${name}"`,
        path: [...base, 'exec', 0],
        base,
        userMissing: `"${name}" is unknown`,
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
        const owner = `to notify of "${name}"`
        const userMissing = `Cannot run ${argv[0]}, ${owner}`
        const path = [...base, event, 0]
        const { capabilities, unsafe, user } = notify ?? {}
        const leftOut: LeftOut = { kind: 'notify', section: key, name, event }
        return [{ argv, user, capabilities, unsafe, leftOut, owner, path, base, userMissing }]
      }),
    ),
  )
}

async function judged(
  { argv, base, capabilities, leftOut, owner, path, unsafe: wanted, user, userMissing }: NamedProgram,
  locate: Locate,
): Promise<Judgement> {
  const runsAs = user === undefined ? undefined : await userNamed(user)
  const problems: Problem[] = []
  if (runsAs === 'missing')
    problems.push(problemAt(locate, [...base, 'user'], 'warning', `${userMissing}: there is no user "${user}" here`))
  // The launcher decides the same (native/launcher/privileges.c); the daemon may be another user than who asks here.
  else if (capabilities === 'keep' && runsAs !== undefined && ![0, process.geteuid?.()].includes(runsAs.uid)) {
    const message = `${argv[0]} has no capability, ${owner}, unless "${user}" is the user of the daemon`
    problems.push(problemAt(locate, [...base, 'capabilities'], 'warning', message))
  }
  const unsafe = await disks.ask(argv[0], () =>
    unsafeBecause(argv[0], typeof runsAs === 'object' ? runsAs.uid : undefined),
  )
  const say = (severity: Severity, message: string) =>
    problems.push(problemAt(locate, path, severity, `${message}, ${owner}`))
  if (unsafe?.reason === 'scriptUnsafe' && wanted === 'skip') {
    say('warning', `Left out ${argv[0]}: ${unsafe.why}`)
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
