/** Writes the results of the load balancer's benchmark as a table: one row for each event. Pure. */
import type { Loss } from '../../test/support/balancer-lab.ts'
import { LINE_UPS, type LineUp } from './events.ts'

export type Result = {
  readonly event: string
  readonly lineUp: LineUp
  /** Requests around the event; `undefined` if the run failed. */
  readonly loss: Loss | undefined
  /** Held connections that ended. `undefined`: none were held. */
  readonly broken: number | undefined
  /** Load of the machine at the event: processes that ran or waited for a CPU. */
  readonly load: number
  readonly failure?: string
}

export type Machine = {
  readonly node: string
  readonly kernel: string
  readonly haproxy: string
  readonly cpus: number
}

export function markdown(results: readonly Result[], { node, kernel, haproxy, cpus }: Machine): string {
  const loads = results.map(({ load }) => load)
  const lines = [...new Set(results.map(({ event }) => event))].map((event) => {
    const cells = LINE_UPS.flatMap((lineUp) =>
      cellsOf(results.filter((one) => one.event === event && one.lineUp === lineUp)),
    )
    return `| ${[event, ...cells].join(' | ')} |`
  })
  return [
    '# What a fault costs a client of the API',
    '',
    `\`make bench-balancer\` wrote this page. Node ${node}, Linux ${kernel}, ${haproxy}, ${cpus} CPUs, load ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.`,
    'All processes of the benchmark ran with nice -15.',
    'A client asks VIP:6443 every 10 ms over a new connection. A request is lost if it is refused, reset, or not answered in 2 s.',
    '',
    '- **lost**: lost requests of all requests that began after the event.',
    '- **answers after**: milliseconds from the event until the first answer after the last lost request; 0 without a lost request.',
    '- **slowest**: milliseconds of the slowest answer.',
    '- `fast`: the shipped template and the default profile. `upstream`: the times of OpenShift’s template, and `--profile upstream`.',
    '- A cell has one value for each run.',
    '',
    `| event | ${LINE_UPS.flatMap((lineUp) => [`${lineUp}: lost`, 'answers after', 'slowest']).join(' | ')} |`,
    `|---|${LINE_UPS.map(() => '---|---|---|').join('')}`,
    ...lines,
    '',
  ].join('\n')
}

function cellsOf(runs: readonly Result[]): readonly string[] {
  if (runs.length === 0) return ['–', '–', '–']
  const each = (text: (loss: Loss) => string) =>
    runs.map(({ loss }) => (loss === undefined ? 'failed' : text(loss))).join('; ')
  const broken = runs.flatMap((run) => run.broken ?? [])
  const held = broken.length === 0 ? '' : `; connections broken: ${broken.join('; ')}`
  return [
    `${each(({ lost, asked }) => `${lost} of ${asked}`)}${held}`,
    each(({ answersAfter }) => `${answersAfter}`),
    each(({ slowest }) => `${slowest}`),
  ]
}
