/**
 * For any sequence of results and silences, the health state equals a model without a state machine. The model stores
 * the whole history as a text and reads its end each time.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { HealthRule } from '../../src/healthcheck/check.ts'
import {
  countedAs,
  expireHealth,
  healthDeadline,
  isChanging,
  startHealth,
  stepHealth,
} from '../../src/healthcheck/health.ts'
import { millis } from '../../src/wire/units.ts'
import { forAll } from '../support/for-all.ts'

const rules: fc.Arbitrary<HealthRule> = fc.record({
  rise: fc.integer({ min: 1, max: 5 }),
  fall: fc.integer({ min: 1, max: 5 }),
  initial: fc.constantFrom('firstResult', 'up', 'down'),
  onUnknown: fc.constantFrom('hold', 'fail'),
  unknownAfter: fc.constant(millis(1_000)),
})
/**
 * Outcome of a run, and the time since the run before; about every eighth run comes after the last result is too old.
 */
const steps = fc.array(
  fc.record({
    outcome: fc.constantFrom('ok', 'ok', 'fail', 'fail', 'unknown'),
    /** Requests before a takeover (docs/architecture.md, Protocol decisions): a different result counts immediately. */
    doubted: fc.constantFrom([], [], [], ['up'] as const, ['down'] as const, ['up', 'down'] as const),
    after: fc.oneof({ weight: 7, arbitrary: fc.integer({ min: 1, max: 300 }) }, fc.integer({ min: 900, max: 1_100 })),
  }),
  { maxLength: 60 },
)

class Model {
  readonly rule: HealthRule
  counts: 'up' | 'down' | 'nothing'
  known: boolean
  undecided: boolean
  /** Usable results since the last change or silence of the check, as letters. */
  tail = ''
  lastUsable = 0

  constructor(rule: HealthRule) {
    this.rule = rule
    this.undecided = rule.initial === 'firstResult'
    this.known = !this.undecided
    this.counts = rule.initial === 'firstResult' ? 'nothing' : rule.initial
  }

  silence(now: number): void {
    if ((this.known || this.undecided) && now - this.lastUsable >= this.rule.unknownAfter) this.doubt()
  }

  doubt(): void {
    this.known = false
    this.undecided = false
    this.tail = ''
    if (this.rule.onUnknown === 'fail') this.counts = 'down'
  }

  run(outcome: string, now: number, doubted: readonly string[]): void {
    if (outcome === 'unknown') {
      if (this.undecided) this.doubt()
      return
    }
    this.lastUsable = now
    this.known = true
    this.undecided = false
    this.tail += outcome === 'ok' ? 'o' : 'f'
    const flips =
      this.counts === 'nothing' ||
      (doubted.includes('up') && this.counts === 'up' && outcome === 'fail') ||
      (doubted.includes('down') && this.counts === 'down' && outcome === 'ok') ||
      (this.counts === 'up' && this.tail.endsWith('f'.repeat(this.rule.fall))) ||
      (this.counts === 'down' && this.tail.endsWith('o'.repeat(this.rule.rise)))
    if (!flips) return
    this.counts = outcome === 'ok' ? 'up' : 'down'
    this.tail = ''
  }

  get result(): string {
    return this.undecided ? 'undecided' : this.known ? this.counts : 'unknown'
  }

  get changing(): boolean {
    return this.known && this.tail.endsWith(this.counts === 'up' ? 'f' : 'o')
  }
}

test('health equals the model, run by run, and every change is reported exactly once', () => {
  forAll(1_000, [rules, steps], (rule, all) => {
    const model = new Model(rule)
    let health = startHealth(rule, millis(0))
    let told: string = health.result
    let now = 0
    for (const { outcome, after, doubted } of all) {
      now += after
      model.silence(now)
      const deadline = healthDeadline(health)
      const [waited, doubt] = expireHealth(health, rule, millis(now))
      expect(doubt !== undefined, 'the deadline says when it expires').toBe(deadline !== undefined && deadline <= now)
      model.run(outcome, now, doubted)
      const [next, change] = stepHealth(waited, outcome, rule, millis(now), doubted)
      for (const each of [doubt, change]) {
        if (each === undefined) continue
        expect(each.from, 'a change begins where the last one ended').toBe(told)
        expect(each.to).not.toBe(told)
        expect(each.at).toBe(now)
        told = each.to
      }
      health = next
      expect([health.result, countedAs(health), isChanging(health)]).toEqual([
        model.result,
        model.counts,
        model.changing,
      ])
      expect(told, 'nothing changes untold').toBe(health.result)
    }
  })
})
