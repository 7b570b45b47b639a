/** The cluster's wishes as the API reported them, when the agent starts again. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Intent } from '../../../src/cluster/decisions/agent-state.ts'
import { INTENT_FILE, rememberedIntent } from '../../../src/cluster/runtime/status/intent-memory.ts'
import { Wishes } from '../../../src/cluster/runtime/status/wishes.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-wishes-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function begun({ isFollowed = true, isStopped = false, into = directory } = {}) {
  const remembered = rememberedIntent(into)
  const intents: Intent[] = []
  const told: string[] = []
  const wishes = new Wishes({
    ...{ directory: into, isFollowed, isStopped, onIntent: (intent) => intents.push(intent) },
    remembered: typeof remembered === 'object' ? remembered : {},
    log: ({ level }, message) => told.push(`${level} ${message}`),
  })
  return { intents, remembered, told, wishes }
}

test('ingressHa is unknown before the first answer, reported once, and stored', () => {
  const { intents, wishes } = begun()
  expect(wishes.intent).toEqual({ api: true, ingress: 'unknown' })
  for (const word of ['Disabled', 'Disabled', 'Enabled', 'Disabled'] as const) wishes.ingressIs(word)
  expect(intents.map(({ ingress }) => ingress)).toEqual([false, true, false])
  expect(begun().wishes.intent).toEqual({ api: true, ingress: false })
})

test('an agent that does not follow HostedNetServices wants ingress, whatever is stored', () => {
  begun().wishes.ingressIs('Disabled')
  expect(begun({ isFollowed: false }).wishes.intent).toEqual({ api: true, ingress: true })
})

test('an equal answer writes a file that was removed, and does not touch an existing one', () => {
  const { wishes } = begun()
  const file = join(directory, INTENT_FILE)
  wishes.ingressIs('Disabled')
  const text = readFileSync(file, 'utf8')
  expect(JSON.parse(text)).toEqual({ version: 1, ingressHa: 'Disabled' })
  rmSync(file)
  wishes.ingressIs('Disabled')
  expect(readFileSync(file, 'utf8')).toBe(text)
  chmodSync(file, 0o600)
  writeFileSync(file, 'edited')
  wishes.ingressIs('Disabled')
  expect(readFileSync(file, 'utf8')).toBe('edited')
})

test.each(['', '{', '7', '{"version":2,"ingressHa":"Disabled"}', '{"version":1,"ingressHa":"off"}'])(
  'a file with %j is named, and is as none',
  (text) => {
    writeFileSync(join(directory, INTENT_FILE), text)
    const { remembered, wishes } = begun()
    expect(remembered).toContain(`Cannot use ${join(directory, INTENT_FILE)}: `)
    expect(wishes.intent.ingress).toBe('unknown')
    wishes.ingressIs('Enabled')
    expect(begun().wishes.intent.ingress).toBe(true)
  },
)

test('a file that cannot be written is reported once, and the wish stays in force', () => {
  writeFileSync(join(directory, 'taken'), '')
  const { intents, told, wishes } = begun({ into: join(directory, 'taken') })
  for (const word of ['Disabled', 'Disabled', 'Enabled'] as const) wishes.ingressIs(word)
  expect(intents.map(({ ingress }) => ingress)).toEqual([false, true])
  expect(
    told.filter((line) => line.startsWith('error Cannot store which VIPs the cluster wants on its nodes: ')),
  ).toHaveLength(1)
})

test('on a platform whose nodes hold no VIPs nothing is wanted, also after a restart, until an answer changes that', () => {
  const { intents, told, wishes } = begun()
  wishes.ingressIs('Disabled')
  const elsewhere = { reason: 'UnsupportedPlatform', message: 'the platform is AWS' } as const
  wishes.elsewhereIs(elsewhere)
  wishes.elsewhereIs(elsewhere)
  expect(intents).toEqual([
    { api: true, ingress: false },
    { api: false, ingress: false },
  ])
  expect(told.at(-1)).toBe('warn the nodes hold no VIPs: the platform is AWS')
  const again = begun({ isFollowed: false })
  expect([again.wishes.intent, again.wishes.elsewhere]).toEqual([{ api: false, ingress: false }, elsewhere])
  const next = begun().wishes
  next.elsewhereIs(undefined)
  expect(next.intent).toEqual({ api: true, ingress: false })
  expect(begun().wishes.intent).toEqual({ api: true, ingress: false })
})

test('a bootstrap node that has released its VIPs wants nothing until it is ordered to reload', () => {
  const { intents, wishes } = begun({ isFollowed: false, isStopped: true })
  expect(wishes.intent).toEqual({ api: false, ingress: false })
  wishes.elsewhereIs(undefined)
  wishes.stoppedIs(true)
  expect(intents).toEqual([])
  for (const isStopped of [false, true]) wishes.stoppedIs(isStopped)
  expect(intents).toEqual([
    { api: true, ingress: true },
    { api: false, ingress: false },
  ])
})
