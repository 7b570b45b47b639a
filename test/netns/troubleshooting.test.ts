/**
 * Answers of commands in docs/troubleshooting.md and docs/operations.md, from real daemons with the symptom. Every
 * answer ends with its symptom.
 */
import { expect, test } from 'vitest'
import { eventually } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'
import { missingLine, type Tried, triedBlocks } from '../support/tried-page.ts'
import { Turns } from '../support/turns.ts'
import { Stage, SYMPTOMS } from './symptoms.ts'

const BESIDE = 4
const BLOCKS = new Map(
  ['troubleshooting.md', 'troubleshooting-daemon.md', 'operations.md'].flatMap((page) => [...triedBlocks(page)]),
)

test('each marked block of the pages has a symptom, and each symptom has a block', () => {
  expect([...BLOCKS.keys()].sort()).toEqual(Object.keys(SYMPTOMS).sort())
})

async function answers(stage: Stage, tried: Tried, wanted: boolean): Promise<void> {
  let seen = ''
  await eventually(
    `${tried.host} ${wanted ? 'to' : 'no longer to'} answer "${tried.command}" with ${tried.answer.join(' / ')}`,
    async () => {
      seen = await stage.ask(tried.host, tried.command)
      return (missingLine(tried, seen) === undefined) === wanted
    },
    { sight: () => seen.split('\n'), every: 200 },
  )
}

describeNetns('a command of the pages for operators on call', () => {
  const turns = new Turns(BESIDE)
  for (const [name, tried] of BLOCKS) {
    turns.test(name, async ({ onTestFinished }) => {
      const stage = new Stage()
      onTestFinished(() => stage.lab.destroy())
      const symptom = SYMPTOMS[name]
      await symptom?.make(stage)
      for (const each of tried) await answers(stage, each, true)
      if (symptom?.end === undefined) return
      await symptom.end(stage)
      const [first] = tried
      if (first !== undefined) await answers(stage, first, false)
    })
  }
})
