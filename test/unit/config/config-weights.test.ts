/** The table of trackers: base and contributions, limited to 1 to 254, with the exact sum (VR-TRK-01, 02, 03, 08). */
import { expect, test } from 'vitest'
import { effectivePriority } from '../../../src/config/weights.ts'

const up = (weight: number) => ({ weight, up: true })
const down = (weight: number) => ({ weight, up: false })
const reverse = <T>(tracker: T) => ({ ...tracker, reverse: true })
const holds = (content: number, weight: number) => ({ weight, content })

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
  ['reverse, positive, up', 100, [reverse(up(20))], 80, 80, false],
  ['reverse, positive, down', 100, [reverse(down(20))], 100, 100, false],
  ['reverse, negative, up', 100, [reverse(up(-20))], 100, 100, false],
  ['reverse, negative, down', 100, [reverse(down(-20))], 120, 120, false],
  ['reverse, zero, up', 100, [reverse(up(0))], 100, 100, true],
  ['reverse, zero, down', 100, [reverse(down(0))], 100, 100, false],
  ['a file: content times weight', 100, [holds(7, 3)], 121, 121, false],
  ['a file: negative content', 100, [holds(-7, 3)], 79, 79, false],
  ['a file: reverse', 100, [reverse(holds(7, 3))], 79, 79, false],
  ['a file: missing, which is 0', 100, [holds(0, 3)], 100, 100, false],
  ['a file: more than 253 is 253', 1, [holds(100, 3)], 254, 254, false],
  ['a file: -253 is a weight', 254, [holds(-253, 1)], 1, 1, false],
  ['a file: -254 is a fault', 254, [holds(-254, 1)], 254, 254, true],
  ['a file: -127 times 2 is a fault, and adds nothing', 200, [holds(-127, 2), up(5)], 205, 205, true],
  ['a file of weight 0: anything but 0', 100, [holds(5, 0)], 100, 100, true],
  ['a file of weight 0: 0', 100, [holds(0, 0)], 100, 100, false],
  ['a file of weight 0, reverse: 0', 100, [reverse(holds(0, 0))], 100, 100, true],
  ['a file of weight 0, reverse: anything but 0', 100, [reverse(holds(5, 0))], 100, 100, false],
  ['owner: a file of a weight is nothing', 255, [holds(-254, 1)], 255, 255, false],
  ['owner: a file of weight 0 is a fault', 255, [holds(1, 0)], 255, 255, true],
  ['owner: weights are nothing', 255, [down(-20), up(3)], 255, 255, false],
  ['owner: a fault is one', 255, [down(0)], 255, 255, true],
])('%s', (_, base, contributions, priority, sum, fault) => {
  expect(effectivePriority(base, contributions)).toEqual({ priority, sum, fault })
})
