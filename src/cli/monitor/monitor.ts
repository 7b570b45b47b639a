/** `holdfast monitor`, also under the name monitor: parses the arguments, and prints the help or runs. */
import { EXIT } from '../../app/exit-code.ts'
import type { CommandResult } from '../command.ts'
import { monitorHelp, monitorOrder } from './monitor-flags.ts'

export async function monitorCommand(argv: readonly string[]): Promise<CommandResult> {
  const order = monitorOrder(argv)
  if (order.do === 'help') return { exitCode: EXIT.ok, stdout: monitorHelp(), stderr: '' }
  if (order.do === 'refuse') {
    const lines = order.problems.map((problem) => `holdfast: ${problem}\n`)
    return { exitCode: EXIT.usage, stdout: '', stderr: lines.join('') }
  }
  const { monitorRun } = await import('./monitor-run.ts')
  return monitorRun(order)
}
