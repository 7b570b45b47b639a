/**
 * Prints the report of `holdfast explain` as text. This file decides the layout. Every step of a story is one line with
 * its time after the first step; the phases and the advice follow. PURE.
 */

import { plural, time } from './event-text.ts'
import type { Story, StoryIncident } from './story.ts'

/**
 * Returns the text of the report. `since` names the requested period; `present` is the label of problems that exist at
 * the end.
 */
export function formatStory({ incidents, nodes, now, problems }: Story, since: string, present = 'now'): string {
  const clocks = nodes.slice(1).map(clockText)
  const head = [...problems.map((problem) => `note: ${problem}`), ...clocks]
  const wrong = now.map((each) => `${present}: ${each.words}${each.since === null ? '' : `, since ${each.since}`}`)
  const nothing = now.length === 0 ? `Nothing has happened ${since}.` : `No event is recorded ${since}.`
  const body = incidents.length === 0 ? [nothing] : incidents.map(formatIncident)
  return `${[...[head, wrong].flatMap((lines) => (lines.length === 0 ? [] : [lines.join('\n')])), ...body].join('\n\n')}\n`
}

function clockText({ by, errorMs, name, offsetMs, pairs }: Story['nodes'][number]): string {
  const ahead = `the clock of ${name} is ${time(Math.abs(offsetMs))} ${offsetMs < 0 ? 'behind' : 'ahead of'} the clock of this node`
  if (by === 'transmissions')
    return `note: ${ahead}, ±${time(errorMs ?? 0)}, measured by ${plural(pairs, 'transmission', 'transmissions')} between the two nodes`
  if (by === 'answer') return `note: ${ahead}, ±${time(errorMs ?? 0)}, measured by the answer of ${name}`
  return `note: the offset of the clock of ${name} is not known; this report assumes that it is 0`
}

function formatIncident({ again, at, headline, noticedBy, phases, prevention, steps }: StoryIncident): string {
  const began = Date.parse(steps[0]?.at ?? at)
  const width = Math.max(0, ...steps.map(({ node }) => node.length))
  return [
    `${at}  ${headline}${again === 0 ? '' : ` Repeated ${plural(again, 'time', 'times')}.`}`,
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
