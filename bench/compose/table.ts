/** Writes the result of the lab's faults as a Markdown table. A pure function of the table's rows. */
import type { Row, Sights } from './story.ts'

const family = (address: string) => (address.includes(':') ? 'IPv6' : 'IPv4')

const outages = (sights: Sights): string =>
  Object.entries(sights)
    .map(([address, { outageMs, lost }]) => `${family(address)} ${outageMs.toFixed(0)} (${lost})`)
    .join(', ')

const held = ({ before, during, after }: Row): string =>
  [before.holder, 'parted' in during ? during.parted.join(' and ') : during.holder, after.holder].join(' → ')

export function table(rows: readonly Row[]): string {
  const titles = [
    'what happens to r1',
    'without an answer, ms (probes lost)',
    'while it comes back',
    'who had it',
    'two holders, ms',
  ]
  return [
    `| ${titles.join(' | ')} |`,
    `|${'---|'.repeat(titles.length)}`,
    ...rows.map((row) => {
      const columns = [row.title, outages(row.fault), outages(row.back), held(row), row.overlapMs.toFixed(0)]
      return `| ${columns.join(' | ')} |`
    }),
    '',
  ].join('\n')
}
