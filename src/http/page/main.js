/**
 * Connects the parts of the page: answers go to the memory, and the view shows the memory. This file decides nothing
 * else.
 */
import { Connection } from './connection.js'
import { morph } from './dom.js'
import { Memory } from './memory.js'
import { spoken, view } from './view.js'
import { clock } from './words.js'

/** Milliseconds between two updates of the page. Times such as "12 s" change without news. */
const EVERY = 1_000

const memory = new Memory()
const connection = new Connection(memory, show)
/** @type {{ window: string, closed: Set<string>, opened: Set<string> }} */
const chosen = { window: 'auto', closed: new Set(), opened: new Set() }

/** @param {string} id */
function element(id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element "${id}"`)
  return found
}

function show() {
  const now = Date.now()
  morph(element('page'), view(memory, connection.line, chosen, now))
  const words = spoken(memory, connection.line, now)
  const told = element('told')
  if (told.textContent !== words) told.textContent = words
  document.title = words === '' ? 'holdfast' : `${words} – holdfast`
  const { live, since, state } = connection.line
  const isGood = state === 'connected'
  const how = {
    connecting: 'connecting …',
    connected: live ? 'live' : 'updated every 2 s',
    silent: 'engine silent',
    lost: 'no connection',
  }[state]
  element('node').textContent = memory.own === null ? '' : memory.own.hostname
  const line = element('line')
  line.className = isGood ? 'good' : state === 'connecting' ? '' : 'bad'
  line.textContent = isGood ? `${how} · ${clock(since + memory.skew, now + memory.skew)}` : how
}

document.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.dataset.window === undefined) return
  chosen.window = target.dataset.window
  show()
  // One choice of a time window counts for all time lines.
  for (const input of document.querySelectorAll('input[data-window]')) {
    if (input instanceof HTMLInputElement) input.checked = input.dataset.window === chosen.window
  }
})

document.addEventListener(
  'toggle',
  ({ target }) => {
    if (!(target instanceof HTMLDetailsElement) || target.dataset.router === undefined) return
    const { router } = target.dataset
    chosen.opened.delete(router)
    chosen.closed.delete(router)
    if (target.open) chosen.opened.add(router)
    else chosen.closed.add(router)
    show()
  },
  // The event `toggle` does not bubble, so it is captured.
  true,
)

connection.watch()
setInterval(show, EVERY)
