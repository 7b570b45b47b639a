/**
 * States on the page: a lane for each node on one time line whose length a person chooses. This file decides the text
 * of a lane for screen readers. This file does not know where spans come from.
 */
import { h } from './dom.js'
import { inWindow, spansOf, WINDOWS, windowOf } from './timeline.js'
import { clock, reasonWords } from './words.js'

/** @typedef {import('./cluster.js').Group} Group */
/** @typedef {import('./cluster.js').Member} Member */

/** @param {Group} group @param {number} now @param {string} chosen */
export function timelineOf(group, now, chosen) {
  const lanes = group.members.map((member) => ({ member, spans: spansOf(member.node, member.router.name, now) }))
  const { from, name, to } = windowOf(
    chosen,
    lanes.map(({ spans }) => spans),
    now,
  )
  const choices = ['auto', ...Object.keys(WINDOWS)].map((each) =>
    h(
      'label',
      { key: each },
      h('input', {
        type: 'radio',
        name: `window ${group.id}`,
        value: each,
        'data-window': each,
        checked: each === chosen,
      }),
      h('span', {}, each === 'auto' && chosen === 'auto' ? `auto (${name})` : each),
    ),
  )
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    h('span', { class: 'tick', style: { left: `${share * 100}%` } }, clock(from + share * (to - from), now)),
  )
  return h(
    'div',
    { class: 'timeline', key: 'timeline' },
    h(
      'div',
      { class: 'over' },
      h('h3', {}, 'States'),
      h(
        'fieldset',
        { class: 'windows' },
        h('legend', { class: 'unseen' }, `Length of the time line of ${group.name}`),
        choices,
      ),
    ),
    lanes.map(({ member, spans }) => laneOf(member, spans, { from, to }, now)),
    h(
      'div',
      { class: 'axis', 'aria-hidden': 'true' },
      h('span', { class: 'lanename' }),
      h('span', { class: 'ticks' }, ticks),
    ),
    h(
      'ul',
      { class: 'legend', 'aria-hidden': 'true' },
      LEGEND.map(([state, words]) => h('li', {}, h('span', { class: `swatch ${state}` }), words)),
    ),
  )
}

const LEGEND = [
  ['Active', 'Active'],
  ['Backup', 'Backup'],
  ['Leaving', 'Leaving, Returning'],
  ['Initialize', 'Initialize'],
  ['away', 'not running'],
  ['unheard', 'no answer'],
]

/** Number of last spans that the text for screen readers names. */
const MOST_SPOKEN = 4

/**
 * @param {Member} member
 * @param {readonly import('./timeline.js').Span[]} spans
 * @param {{ readonly from: number, readonly to: number }} window
 * @param {number} now
 */
function laneOf({ node }, spans, window, now) {
  const shown = inWindow(spans, window)
  const words = shown
    .slice(-MOST_SPOKEN)
    .map(
      ({ from, state, to }) =>
        `${STATE_WORDS[state] ?? state} from ${clock(from, now)} ${to >= now ? 'until now' : `to ${clock(to, now)}`}`,
    )
  const bars = shown.map(({ from, reason, start, state, to, width }) =>
    h('span', {
      class: `span ${state}`,
      title: `${STATE_WORDS[state] ?? state}, ${clock(from, now, true)} – ${to >= now ? 'now' : clock(to, now, true)}: ${reasonWords(reason)}`,
      style: { left: `${(100 * start).toFixed(3)}%`, width: `${(100 * width).toFixed(3)}%` },
    }),
  )
  return h(
    'div',
    { class: 'lane', key: node.key },
    h('span', { class: 'lanename', 'aria-hidden': 'true' }, node.name),
    h(
      'span',
      { class: 'track', role: 'img', 'aria-label': `${node.name}: ${words.join(', ') || 'nothing known'}` },
      bars,
    ),
  )
}

/** @type {Readonly<Record<string, string>>} */
const STATE_WORDS = { away: 'not running', unheard: 'no answer' }
