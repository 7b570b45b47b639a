/**
 * Writes a counterexample as text that a person can read and a test can replay. Each line is an event; behind a #
 * stands the state of every node at that moment. A replay reads only the part before the #.
 */
import { after, describe, ENGINE, possible } from './actions.ts'
import { type Counterexample, origin, tooLong } from './explore.ts'
import { bounds, Futures } from './liveness.ts'
import type { Machine } from './node-step.ts'
import { unsafe } from './overlap.ts'
import { settingCalled } from './settings.ts'
import { isAwake, NAMES, type Node, type Setting, type World } from './world.ts'

/** Number of faults for every replay: a replay makes the faults of the text, whatever their number. */
const PLENTY = 1_000
const COLUMN = 16

/** Replays a story. Returns the first fault in the story; `undefined` if the story now has none. */
export function replay(text: string, machine: Machine = ENGINE): string | undefined {
  const lines = text.split('\n').flatMap((line) => line.replace(/#.*/, '').trim() || [])
  const [header = '', ...actions] = lines
  return play(settingCalled(header.replace(/^setting /, '')), actions, machine).problem
}

export function storyOf(setting: Setting, { actions, what }: Counterexample, machine: Machine = ENGINE): string {
  const { lines, world } = play(setting, actions, machine)
  const future = [...new Futures(setting, machine).told(world)].map(
    ([action, then]) => `#   ${describe(action).padEnd(COLUMN)}${everybody(then)}`,
  )
  const rest = what.startsWith('no') ? ['# and then, without a fault:', ...future] : []
  return [`# ${what}`, `setting ${setting.name}`, `# ${everybody(origin(setting, 0))}`, ...lines, ...rest, ''].join(
    '\n',
  )
}

type Played = { readonly lines: readonly string[]; readonly world: World; readonly problem: string | undefined }

function play(setting: Setting, actions: readonly string[], machine: Machine): Played {
  const futures = new Futures(setting, machine)
  const lines: string[] = []
  let problem: string | undefined
  let world = origin(setting, PLENTY)
  for (const text of actions) {
    const action = possible(world, setting).find((each) => describe(each) === text)
    if (action === undefined) throw new Error(`Cannot ${text}: possible are ${possible(world, setting).map(describe)}`)
    world = { ...after(world, action, setting, machine), faults: PLENTY }
    lines.push(`${text.padEnd(COLUMN)}# ${everybody(world)}`)
    problem ??= unsafe(world, setting) ?? tooLong(futures.of(world), bounds(setting, world))
  }
  return { lines, world, problem }
}

const rounded = (ms: number): string => String(Math.round(100 * ms) / 100)

function everybody({ nodes, wire }: World): string {
  const waiting = wire.map(({ from, held, said, to }) => {
    const what = said.kind === 'advertisement' ? said.priority : said.kind
    return `${NAMES[from]}→${NAMES[to]} ${what}${held ? ' (held)' : ''}`
  })
  return [...nodes.map((node, i) => `${NAMES[i]} ${one(node)}`), ...waiting].join(', ')
}

function one(node: Node): string {
  const { holds, priority, queue, running, state } = node
  if (!running) return 'off'
  const due =
    state.name === 'Backup'
      ? ` in ${rounded(state.activeDownAt)}`
      : state.name === 'Active'
        ? ` in ${rounded(state.adverAt)}`
        : ''
  const asleep = isAwake(node) ? '' : ` (stalled, ${queue.length} queued)`
  return `${priority} ${state.name}${due}${holds === (state.name === 'Active') ? '' : holds ? ', answers' : ', mute'}${asleep}`
}
