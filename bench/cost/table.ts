/** Formats Markdown tables and their figures. This file decides how many digits of a figure are shown. Pure. */
import { NOISY_PRESSURE, type Weather } from './result.ts'

/** Formats a cost in CPU seconds per minute. */
export const seconds = (value: number): string => (Math.abs(value) < 0.1 ? value.toFixed(4) : value.toFixed(2))
export const mib = (kib: number): string => (kib / 1024).toFixed(1)

export const rows = (titles: readonly string[], lines: readonly (readonly string[])[]): readonly string[] => [
  `| ${titles.join(' | ')} |`,
  `|${'---|'.repeat(titles.length)}`,
  ...lines.map((line) => `| ${line.join(' | ')} |`),
]

export const weatherText = ({ pressure, load }: Weather): string =>
  `${(100 * pressure).toFixed(0)} %${pressure > NOISY_PRESSURE ? ' **noisy**' : ''}, ${load.toFixed(1)}`
