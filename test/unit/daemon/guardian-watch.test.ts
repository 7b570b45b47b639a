/** The looks for the guardian, with a guardian port that watches the beats itself. */
import { describe, expect, test } from 'vitest'
import { GuardianWatch } from '../../../src/daemon/guard/guardian-watch.ts'
import { millis } from '../../../src/wire/units.ts'

function watch() {
  const seen = { looks: 0, timers: 0, patience: [] as number[], lost: [] as (number | undefined)[] }
  const state = { now: 0, silent: 0, watches: true, isAlive: true, lifetime: undefined as number | undefined }
  let call = () => {}
  let fire = () => {}
  const guardian = {
    guarded: true,
    beat: () => (state.isAlive ? { silent: millis(state.silent), isChanging: false } : undefined),
    listen: (onCall: () => void) => {
      call = onCall
      return true
    },
    watch: (patience: number) => {
      seen.patience.push(patience)
      return state.watches
    },
  }
  const schedule = (callback: () => void) => {
    seen.timers++
    fire = callback
    return () => {
      fire = () => {}
    }
  }
  const watched = new GuardianWatch({
    clock: { now: () => millis(state.now), asleep: () => millis(0) },
    ...{ guardian, schedule },
    recorder: { log: () => {} },
    onLook: () => void seen.looks++,
    shortestLifetime: () => state.lifetime,
    onLost: (silence) => void seen.lost.push(silence),
  })
  watched.start()
  return { seen, state, watched, call: () => call(), fire: () => fire() }
}

describe('an engine whose port watches the guardian', () => {
  test('the engine sets no timer, and a turn looks for the guardian after 2.4 s', () => {
    const { seen, watched } = watch()
    for (const now of [1_000, 2_399]) watched.glance(millis(now))
    expect(seen).toMatchObject({ timers: 0, patience: [2_000] })
    watched.glanceIfWatched(millis(2_400))
    expect(seen).toMatchObject({ timers: 0, patience: [2_000, 2_000], lost: [] })
  })

  test('the port receives another patience when the shortest lifetime changes, and only then', () => {
    const { seen, state, watched } = watch()
    watched.follow()
    expect(seen.patience).toEqual([2_000])
    state.lifetime = 3
    watched.follow()
    expect(seen.patience).toEqual([2_000, 1_500])
  })

  test('a silent guardian is lost after a second look, 250 ms later, and a dead one immediately', () => {
    const silent = watch()
    Object.assign(silent.state, { now: 5_000, silent: 2_001 })
    silent.call()
    expect(silent.seen).toMatchObject({ timers: 1, lost: [] })
    Object.assign(silent.state, { now: 5_250, silent: 2_251 })
    silent.fire()
    expect(silent.seen.lost).toEqual([2_251])

    const dead = watch()
    dead.state.isAlive = false
    dead.call()
    expect(dead.seen.lost).toEqual([undefined])
  })

  test('an engine that has stopped looks no more', () => {
    const { call, seen, watched } = watch()
    watched.stop()
    call()
    watched.follow()
    watched.glance(millis(10_000))
    expect(seen).toMatchObject({ looks: 1, patience: [2_000] })
  })

  test('a port that cannot watch leaves the looks to a timer', () => {
    const { seen, state, watched } = watch()
    state.watches = false
    watched.glance(millis(2_400))
    watched.glanceIfWatched(millis(9_000))
    expect(seen).toMatchObject({ timers: 1, patience: [2_000, 2_000] })
  })
})
