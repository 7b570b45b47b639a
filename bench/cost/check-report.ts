/**
 * Writes the cost of health checks as Markdown. This file decides that the cost of checks is the cost of a daemon with
 * checks minus the cost of a daemon without checks in the same run. Pure.
 */
import type { CheckCost, Result } from './result.ts'
import { mib, rows, seconds, weatherText } from './table.ts'

export type CheckPrice = {
  /** CPU seconds per minute that one check costs at its rate. */
  readonly each: number
  /** Number of checks that one CPU second pays for. */
  readonly perCpuSecond: number
}

/**
 * Returns the price of one check; `undefined` if the daemon has no checks, or if the difference is smaller than the
 * measurement noise.
 */
export function priceOf(cost: CheckCost, all: readonly CheckCost[]): CheckPrice | undefined {
  const without = all.find(
    ({ daemon, count, asks }) => daemon === cost.daemon && count === cost.count && asks === 'nothing',
  )
  if (without === undefined || cost.asks === 'nothing') return undefined
  const spent = cost.cpuPerMinute - without.cpuPerMinute
  if (!(spent > 0) || !(cost.runsPerSecond > 0)) return undefined
  return { each: spent / cost.count, perCpuSecond: (60 * cost.runsPerSecond) / spent }
}

export function checkLines({ checks, checkWeather }: Result): readonly string[] {
  if (checks.length === 0) return []
  const lines = checks.map((cost) => {
    const price = priceOf(cost, checks)
    const rss = cost.memory.map(({ rssKiB }) => mib(rssKiB)).join(' + ')
    return [
      ...[cost.asks, cost.asks === 'nothing' ? '0' : `${cost.count}`, cost.daemon, seconds(cost.cpuPerMinute)],
      ...[price === undefined ? '' : seconds(price.each), price === undefined ? '' : price.perCpuSecond.toFixed(0)],
      ...[cost.asks === 'nothing' ? '' : cost.runsPerSecond.toFixed(2), rss],
    ]
  })
  const weather = checkWeather === undefined ? '' : ` Pressure and load: ${weatherText(checkWeather)}.`
  const titles = ['asked each second', 'checks', 'daemon', 'CPU s/min', 'of one check', 'checks a CPU second']
  return [
    ...['', '## Health checks', ''],
    `An Active at 1 s with all its children, launchers and programs, the service that is asked not counted; all side by side. keepalived asks with curl, \`exec\` is /bin/true; its rate is as configured.${weather}`,
    '',
    ...rows([...titles, 'ran a second', 'RSS MiB'], lines),
  ]
}
