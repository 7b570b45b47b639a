/** Several labs that run at the same time, and the order in which they wait for each other. */
import { expect, test } from 'vitest'
import { together } from '../../../bench/failover/company.ts'

test('no accident happens before all runs are ready, and no run ends before all runs were observed', async () => {
  const seen: string[] = []
  await together(['a', 'b', 'c'], async (name, turn) => {
    seen.push(`${name} starts`)
    await turn.ready()
    seen.push(`${name} hurt`)
    await turn.over()
    seen.push(`${name} ends`)
  })
  const of = (what: string) => seen.flatMap((each, at) => (each.endsWith(what) ? [at] : []))
  expect(seen).toHaveLength(9)
  expect(of('starts')).toEqual([0, 1, 2])
  expect(of('hurt').every((at) => at > 2 && at < 6)).toBe(true)
  expect(of('ends')).toEqual([6, 7, 8])
})

test('the other runs do not wait for a failed run, and its error comes after they have ended', async () => {
  const seen: string[] = []
  const all = together(['well', 'ill'], async (name, turn) => {
    if (name === 'ill') throw new Error('no cable')
    await turn.ready()
    await turn.over()
    seen.push(name)
  })
  await expect(all).rejects.toThrow('no cable')
  expect(seen).toEqual(['well'])
})
