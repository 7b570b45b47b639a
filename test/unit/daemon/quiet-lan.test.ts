/** docs/lan-traffic.md has the rates that test/netns/quiet-lan.test.ts counts. */
import { expect, test } from 'vitest'
import { expectPart, markdownTable } from '../../support/generated-document.ts'
import { KINDS, type Kind, QUIET, type Rates, type Setup } from '../../support/quiet-lan.ts'

const COLUMNS = ['IPv4, 1 s', 'IPv4, 100 ms', 'IPv6, 1 s', 'IPv6, 100 ms'] as const
const OF_PEERS: readonly Kind[] = ['peer', 'answer']

function tableOf(transport: Setup['transport']): string {
  const rates = QUIET.filter((row) => row.transport === transport).flatMap(({ at1s, at100ms }): Rates[] => [
    at1s,
    at100ms,
  ])
  const kinds = (Object.keys(KINDS) as Kind[]).filter((kind) => rates.some((each) => each[kind] !== undefined))
  const sum = (each: Rates) =>
    Object.entries(each).reduce(
      (total, [kind, rate]) => (OF_PEERS.some((name) => name === kind) ? total : total + rate),
      0,
    )
  return markdownTable(
    ['frames a second', ...COLUMNS],
    [
      ...kinds.map((kind) => [KINDS[kind], ...rates.map((each) => String(each[kind] ?? '–'))]),
      ['**sum without those of listed peers**', ...rates.map((each) => `**${sum(each)}**`)],
    ],
  )
}

test('the tables of the page are those that are counted', () => {
  expectPart('lan-traffic.md', 'multicast', tableOf('multicast, one peer listed'))
  expectPart('lan-traffic.md', 'unicast', tableOf('unicast, one peer'))
})

test('a listed peer changes nothing but the question for it', () => {
  const of = (family: Setup['family'], transport: Setup['transport']) =>
    QUIET.find((row) => row.family === family && row.transport === transport)
  for (const family of ['ipv4', 'ipv6'] as const) {
    const [alone, listed] = [of(family, 'multicast'), of(family, 'multicast, one peer listed')]
    expect(listed?.at1s).toEqual({ ...alone?.at1s, peer: 1, answer: 1 })
    expect(listed?.at100ms).toEqual({ ...alone?.at100ms, peer: 10, answer: 10 })
  }
})
