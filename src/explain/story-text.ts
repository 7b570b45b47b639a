/**
 * A story for people. Decided here: one line a step with how long after the first it was, what it took below, and what
 * would have helped at the end. PURE.
 */
import type { Story, ToldIncident } from './story.ts'
import { plural, time } from './words.ts'

/** `since`: the time that was asked for; `present`: the heading of what is wrong at the end of the journals. */
export function formatStory({ incidents, nodes, now, problems }: Story, since: string, present = 'now'): string {
  const clocks = nodes.slice(1).map(clockWords)
  const head = [...problems.map((problem) => `note: ${problem}`), ...clocks]
  const wrong = now.map((each) => `${present}: ${each.words}${each.since === null ? '' : `, since ${each.since}`}`)
  const nothing = now.length === 0 ? `Nothing has happened ${since}.` : `No event is recorded ${since}.`
  const body = incidents.length === 0 ? [nothing] : incidents.map(formatIncident)
  return `${[...[head, wrong].flatMap((lines) => (lines.length === 0 ? [] : [lines.join('\n')])), ...body].join('\n\n')}\n`
}

function clockWords({ by, errorMs, name, offsetMs, pairs }: Story['nodes'][number]): string {
  const ahead = `the clock of ${name} is ${time(Math.abs(offsetMs))} ${offsetMs < 0 ? 'behind' : 'ahead of'} ours`
  if (by === 'transmissions')
    return `note: ${ahead}, ±${time(errorMs ?? 0)}, by ${plural(pairs, 'transmission', 'transmissions')} that one sent and the other heard`
  if (by === 'answer') return `note: ${ahead}, ±${time(errorMs ?? 0)}, by its own answer`
  return `note: how far the clock of ${name} is from ours is not known: taken as equal`
}

function formatIncident({ again, at, headline, noticedBy, phases, prevention, steps }: ToldIncident): string {
  const began = Date.parse(steps[0]?.at ?? at)
  const width = Math.max(0, ...steps.map(({ node }) => node.length))
  return [
    `${at}  ${headline}${again === 0 ? '' : ` And ${again} more like it.`}`,
    ...steps.map(
      (step) => `  ${`+${time(Date.parse(step.at) - began)}`.padStart(10)}  ${step.node.padEnd(width)}  ${step.words}`,
    ),
    ...(phases.length === 0
      ? []
      : [
          `  detected by ${noticedBy}; ${phases.map(({ ms, what, why }) => `${what} ${time(ms)}${why === undefined ? '' : ` (${why})`}`).join('; ')}`,
        ]),
    ...(prevention === null ? [] : [`  To avoid: ${prevention}`]),
  ].join('\n')
}
