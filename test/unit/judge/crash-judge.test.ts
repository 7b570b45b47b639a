/** The crash matrix as the judge sees it: what one row and one address have to look like, and what no load of a machine explains. */
import { expect, test } from 'vitest'
import { judge, type Observed } from '../../netns/crash-judge.ts'
import { history, seen } from './histories.ts'

const column = { name: '100 ms', vip: '10.77.0.102', vrid: 52, interval: 100 }
/** An advertisement each 100 ms, the last one of r1 at 1 000 ms; then of r2, which took over. */
const said = (node: string, from: number, to: number) =>
  Array.from({ length: Math.floor((to - from) / 100) + 1 }, (_, i) => {
    return { at: from + 100 * i, node, vrid: 52, priority: node === 'r1' ? 200 : 150, v6: false }
  })
const release = (node: string, at: number) => ({ at, node, vrid: 52, priority: 0, v6: false })

const killed: Observed = {
  fault: { name: 'SIGKILL of the engine', engine: 'dies', guardian: 'lives', ms: 0 },
  ...{ column, alone: false, leased: false, at: 1_050, end: 1_050, until: 3_000, kernels: ['r2'], news: [], lines: [] },
  loss: { wall: 2_000, stolen: 0, waited: 0 },
  record: seen(history(['r1', 1_060], ['', 1_110], ['r2', 3_000])),
  spoken: [...said('r1', 0, 1_000), release('r1', 1_055), ...said('r2', 1_100, 2_900)],
}
const told = (more: Partial<Observed>) => {
  const { late, unseen, wrong } = judge({ ...killed, ...more })
  return { late: late.map((text) => text.split('; ')[0]), unseen, wrong }
}

test('an address that moves to the successor after Skew_Time is as it has to be', () => {
  expect(told({})).toEqual({ late: [], unseen: [], wrong: [] })
  expect(judge(killed)).toMatchObject({ overlap: 0, absence: 50, gone: 10, story: '' })
})

test('an absence and an overlap that are too long are late', () => {
  expect(told({ record: seen(history(['r1', 1_060], ['', 1_160], ['r2', 3_000])) }).late).toEqual([
    'v at 10 ms: expected no node answering for at most 66 ms, saw 100.0 ms',
  ])
  expect(told({ record: seen(history(['r1', 1_060], ['r1 r2', 1_080], ['r2', 3_000])) }).late).toEqual([
    'v at 10 ms: expected two nodes answering for at most 3 ms by r1 and r2, saw 20.0 ms',
  ])
})

test('a dead node that keeps the address, and another holder in the end, are late', () => {
  const { late } = told({ record: seen(history(['r1', 3_000])), kernels: ['r1'] })
  expect(late).toEqual([
    'expected r1 without the address 50.0 ms after the fault, saw it stay',
    'expected r2 in the end, saw r1',
    'expected the address in the kernel of r2, saw r1',
  ])
})

test('a release of a healthy node is wrong, whatever the machine lost', () => {
  const spoken = [...killed.spoken, release('r2', 2_050)].sort((one, other) => one.at - other.at)
  expect(told({ spoken }).wrong).toEqual([
    'expected no priority 0 of a node that nothing was done to, saw r2 send priority 0 1000.0 ms after the fault, 50.0 ms after its last advertisement',
  ])
})

test('what is executed for an engine that was on time is wrong', () => {
  const fault = { ...killed.fault, engine: 'stops', ms: 50 } as const
  const { wrong } = told({ fault, kernels: ['r1'], record: seen(history(['r1', 3_000])), end: 1_100 })
  expect(wrong).toEqual([expect.stringMatching(/^expected no priority 0, saw r1 send priority 0/)])
})
