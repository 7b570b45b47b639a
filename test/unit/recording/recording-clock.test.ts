/** The guardian's clock of a recorded engine gives the same answers to the replayed engine. */
import { expect, test } from 'vitest'
import type { ClockOrder, ClockPort, ClockReading } from '../../../src/daemon/ports.ts'
import { readLine } from '../../../src/recording/lines.ts'
import type { Playback } from '../../../src/recording/playback.ts'
import { ReplayedClock } from '../../../src/recording/replayed-clock.ts'
import { TapedClock } from '../../../src/recording/taped-clock.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'
import { keptTape } from '../../support/recordings.ts'

const ORDER: ClockOrder = {
  ...{ slot: 1, unit: 0, family: 'ipv4', vrid: 51, interfaceIndex: 2, source: address('192.0.2.1') },
  ...{ period: millis(100), first: millis(1_000), advance: millis(2), sentAt: millis(900) },
  records: [
    { frame: Uint8Array.of(1, 2) },
    { datagram: { destination: address('224.0.0.18'), bytes: Uint8Array.of(3) } },
  ],
}

const reading = (sent: number, rest: Partial<ClockReading> = {}): ClockReading => ({
  ...{ sentAt: millis(900 + 100 * sent), sent, failed: 0, latest: 0, isStopped: false, isBusy: false },
  ...rest,
})

/** Calls every method, and returns the answers. */
const used = (clock: ClockPort) => [
  clock.arm(ORDER),
  clock.read(1),
  clock.read(1),
  clock.read(1),
  clock.prove(),
  clock.prove(),
  clock.cover(millis(1_250)),
  clock.withdraw(1),
  clock.read(1),
  clock.release(0),
  clock.forget(1),
  clock.arm(ORDER),
]

test('a replayed clock gives the answers of the recorded clock, and is given the same orders', () => {
  const readings = [reading(0), reading(0), reading(3, { latest: 7 }), reading(3)]
  const proofs = [true, false]
  const arms = [true, false]
  const real: ClockPort = {
    arm: () => arms.shift() === true,
    read: () => readings.shift() ?? reading(9),
    withdraw: () => reading(4, { isBusy: true }),
    forget: () => {},
    release: () => {},
    cover: () => {},
    prove: () => proofs.shift() === true,
    listen: () => {},
  }
  const { lines, tape } = keptTape()
  const answers = tape.enter({ in: 'tick' }, () => used(new TapedClock(tape, real)))
  const rest = lines.slice(2).map((text, i) => readLine(text, i))
  const take = () => rest.shift()
  const playback = {
    did(output: object) {
      const line = take()
      expect(line?.kind === 'out' && { ...line.output, answer: undefined }).toEqual({
        ...JSON.parse(JSON.stringify(output)),
        answer: undefined,
      })
      return line
    },
    outcome(output: object, read: (answer: unknown) => unknown) {
      const line = playback.did(output)
      return read(line?.kind === 'out' ? line.output.answer : undefined)
    },
    requiredAnswerTo(kind: string) {
      const line = take()
      expect(line?.kind === 'in' && line.input.in).toBe(kind)
      return line?.kind === 'in' ? line.input : undefined
    },
  }
  const replayed = used(new ReplayedClock(playback as unknown as Playback))
  const withoutLateness = answers.map((each) => (typeof each === 'object' ? { ...each, latest: 0 } : each))
  expect(replayed).toEqual(withoutLateness)
  expect(rest).toEqual([])
})
