/**
 * `holdfast corednsmonitor`, also under that name alone: parses the arguments and runs. This file decides the exit
 * status, and that every invalid value is reported before anything starts.
 */
import { EXIT } from '../../app/exit-code.ts'
import type { CommandResult } from '../command.ts'
import { monitorHelp, monitorOrder } from './monitor-flags.ts'

export async function corednsMonitorCommand(argv: readonly string[]): Promise<CommandResult> {
  const order = monitorOrder(argv, process.env)
  if (order.do === 'help') return { exitCode: EXIT.ok, stdout: monitorHelp(), stderr: '' }
  if (order.do === 'refuse')
    return {
      ...{ exitCode: EXIT.usage, stdout: '' },
      stderr: order.problems.map((line) => `holdfast: ${line}\n`).join(''),
    }
  const { monitorRun } = await import('./monitor-run.ts')
  return monitorRun(order.settings, order.notes)
}
