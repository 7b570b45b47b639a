/**
 * What CRI-O knows of this node, as the files that our presets ask for: whether the machine-config-server runs here, and whether
 * a router of the default ingress is ready here. Asked as often as keepalived's scripts ask; how long a file outlives an answer is
 * cluster/decisions/node-fact.ts.
 */
import { PRESET_FILES } from '../../config/schema/preset.ts'
import { hasContainer, hasPod, type NodeFact, type Reading, readFact, unreadFact } from '../decisions/node-fact.ts'
import { factStands, putFact } from './fact-file.ts'
import { ask, nodeProgram } from './program.ts'

type Question = {
  readonly file: string
  readonly words: readonly string[]
  readonly every: number
  readonly read: (listing: string) => Reading
}
export type RuntimeOptions = {
  /** How crictl is called. */
  readonly crictl?: readonly string[]
  readonly questions?: readonly Question[]
  readonly tell: (message: string) => void
  /** Milliseconds of a clock that nobody sets. */
  readonly now?: () => number
}

export const QUESTIONS = {
  machineConfigServer: {
    file: PRESET_FILES.machineConfigServer,
    words: ['ps', '--state', 'running', '--output', 'json'],
    every: 2000,
    read: (listing) => hasContainer(listing, 'machine-config-server'),
  },
  defaultRouter: {
    file: PRESET_FILES.defaultRouter,
    words: ['pods', '--namespace', 'openshift-ingress', '--state', 'ready', '--output', 'json'],
    every: 5000,
    read: (listing) => hasPod(listing, 'router-default-'),
  },
} as const satisfies Readonly<Record<string, Question>>

/** Asks until it is closed. */
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
  const { file, words, every, read } = question
  let fact: NodeFact = unreadFact(factStands(file), now())
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let told = ''
  const say = (message: string) => {
    if (message !== '' && message !== told) tell(message)
    told = message
  }
  const look = async (): Promise<void> => {
    const started = now()
    const said = await ask([...crictl, ...words], every - 100)
    if (closed) return
    const reading = 'stdout' in said ? read(said.stdout) : undefined
    fact = readFact(fact, reading, now())
    let problem = 'failed' in said ? said.failed : reading === undefined ? `${words.join(' ')}: no listing` : ''
    try {
      putFact(file, fact.present)
    } catch (error) {
      problem = String(error)
    }
    say(problem === '' ? '' : `Cannot tell whether ${file} should be there: ${problem}`)
    timer = setTimeout(look, Math.max(0, every - (now() - started)))
  }
  void look()
  return () => {
    closed = true
    clearTimeout(timer)
  }
}
