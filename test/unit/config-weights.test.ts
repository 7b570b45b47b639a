/** The table of trackers: base + contributions, clamped to 1–254, the sum kept (VR-TRK-01, 02, 03, 08). */
import { expect, test } from 'vitest'
import { effectivePriority } from '../../src/config/weights.ts'

const up = (weight: number) => ({ weight, up: true })
const down = (weight: number) => ({ weight, up: false })

test.each([
  ['nothing tracked', 100, [], 100, 100, false],
  ['positive, up', 40, [up(50)], 90, 90, false],
  ['positive, down', 40, [down(50)], 40, 40, false],
  ['negative, up', 100, [up(-20)], 100, 100, false],
  ['negative, down', 100, [down(-20)], 80, 80, false],
  ['zero, up', 100, [up(0)], 100, 100, false],
  ['zero, down', 100, [down(0)], 100, 100, true],
  ['several', 100, [up(10), down(-30), down(5), up(-7)], 80, 80, false],
  ['clamped below', 10, [down(-20)], 1, -10, false],
  ['clamped above', 250, [up(20)], 254, 270, false],
  ['the sum comes back from below', 10, [down(-20), up(15)], 5, 5, false],
  ['owner: weights are nothing', 255, [down(-20), up(3)], 255, 255, false],
  ['owner: a fault is one', 255, [down(0)], 255, 255, true],
])('%s', (_, base, contributions, priority, sum, fault) => {
  expect(effectivePriority(base, contributions)).toEqual({ priority, sum, fault })
})
