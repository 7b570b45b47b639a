/** What a run on a machine whose CPUs went to other machines is excused, and that nobody is spared the reading of it. */
import { expect, test } from 'vitest'
import { playDespiteTheft, STOLEN, stolenMs } from '../../support/stolen-time.ts'

type Run = { readonly stolen: number; readonly wrong: readonly string[] }

/** These runs, one after the other; any more would be an error. */
async function played(runs: readonly Run[]) {
  let [plays, stolen] = [0, 1_000]
  const told: string[] = []
  const result = await playDespiteTheft({
    play: () => {
      const run = runs[plays++]
      if (run === undefined) return Promise.reject(new Error(`played ${plays} times`))
      stolen += run.stolen
      return Promise.resolve(run)
    },
    missed: ({ wrong }) => wrong,
    tell: (text) => told.push(text),
    clock: () => stolen,
  })
  return { plays, told, wrong: result.wrong }
}

const well = { stolen: 0, wrong: [] }

test('what missed nothing is not played again, whatever was stolen, and there is nothing to tell', async () => {
  expect(await played([{ stolen: 500, wrong: [] }, well])).toEqual({ plays: 1, told: [], wrong: [] })
})

test.each([0, STOLEN - 1])('what missed a bound while %i ms were stolen is not played again', async (stolen) => {
  const { plays, told, wrong } = await played([{ stolen, wrong: ['two for 300 ms'] }, well])
  expect({ plays, wrong }).toEqual({ plays: 1, wrong: ['two for 300 ms'] })
  expect(told).toEqual([
    `not played again (${stolen} ms of the CPUs were stolen meanwhile), it missed:\ntwo for 300 ms`,
  ])
})

test('what missed one while more was stolen is, once, and both are told', async () => {
  const { plays, told, wrong } = await played([{ stolen: STOLEN, wrong: ['two for 300 ms', 'nobody'] }, well])
  expect({ plays, wrong }).toEqual({ plays: 2, wrong: [] })
  expect(told).toEqual([
    `played again (${STOLEN} ms of the CPUs were stolen meanwhile), it missed:\ntwo for 300 ms\nnobody`,
  ])
})

test('a bound that is missed again is missed, though time was stolen again', async () => {
  const late = { stolen: 90, wrong: ['late'] }
  const { plays, told, wrong } = await played([late, { stolen: 70, wrong: ['later'] }, well])
  expect({ plays, wrong }).toEqual({ plays: 2, wrong: ['later'] })
  expect(told.at(-1)).toBe('missed again (70 ms of the CPUs were stolen meanwhile), it missed:\nlater')
})

test('the time of this machine is a number that does not go back', () => {
  const before = stolenMs()
  expect(before).toBeGreaterThanOrEqual(0)
  expect(stolenMs()).toBeGreaterThanOrEqual(before)
})
