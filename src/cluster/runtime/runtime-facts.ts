/**
 * Writes two facts about this node, as CRI-O reports them, to files for the presets. The facts are: the
 * machine-config-server runs on the node, and a router of the default ingress is ready on it. CRI-O is asked as often
 * as by keepalived's scripts. How long a file stays after the last answer is decided in cluster/decisions/node-fact.ts.
 */
import { PRESET_FILES } from '../../config/schema/preset.ts'
import { hasContainer, hasPod, type NodeFact, type Reading, readFact, unreadFact } from '../decisions/node-fact.ts'
import { factExists, putFact } from './fact-file.ts'
import { ask, nodeProgram } from './program.ts'

type Question = {
  readonly file: string
  readonly parameters: readonly string[]
  readonly every: number
  readonly read: (listing: string) => Reading
}
export type RuntimeOptions = {
  /** Command line with which crictl is run; absent: the crictl of this node. */
  readonly crictl?: readonly string[]
  readonly questions?: readonly Question[]
  readonly tell: (message: string) => void
  /** Returns the time of a monotonic clock in milliseconds. */
  readonly now?: () => number
}

export const QUESTIONS = {
  machineConfigServer: {
    file: PRESET_FILES.machineConfigServer,
    parameters: ['ps', '--state', 'running', '--output', 'json'],
    every: 2000,
    read: (listing) => hasContainer(listing, 'machine-config-server'),
  },
  defaultRouter: {
    file: PRESET_FILES.defaultRouter,
    parameters: ['pods', '--namespace', 'openshift-ingress', '--state', 'ready', '--output', 'json'],
    every: 5000,
    read: (listing) => hasPod(listing, 'router-default-'),
  },
} as const satisfies Readonly<Record<string, Question>>

/** Asks CRI-O regularly and writes the files for the presets, until `close` is called. */
export function watchRuntime(options: RuntimeOptions): { close(): void } {
  const {
    crictl = nodeProgram('crictl'),
    questions = Object.values(QUESTIONS),
    now = () => performance.now(),
  } = options
  const stops = questions.map((question) => watch(question, crictl, options.tell, now))
  return {
    close() {
      for (const stop of stops) stop()
    },
  }
}

function watch(question: Question, crictl: readonly string[], tell: RuntimeOptions['tell'], now: () => number) {
  const { file, parameters, every, read } = question
  let fact: NodeFact = unreadFact(factExists(file), now())
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let told = ''
  const say = (message: string) => {
    if (message !== '' && message !== told) tell(message)
    told = message
  }
  const look = async (): Promise<void> => {
    const started = now()
    const said = await ask([...crictl, ...parameters], every - 100)
    if (closed) return
    const reading = 'stdout' in said ? read(said.stdout) : undefined
    fact = readFact(fact, reading, now())
    let problem =
      'failed' in said ? said.failed : reading === undefined ? `${parameters.join(' ')}: the output is not a list` : ''
    try {
      putFact(file, fact.present)
    } catch (error) {
      problem = String(error)
    }
    say(problem === '' ? '' : `Cannot decide whether ${file} should exist: ${problem}`)
    timer = setTimeout(look, Math.max(0, every - (now() - started)))
  }
  void look()
  return () => {
    closed = true
    clearTimeout(timer)
  }
}
