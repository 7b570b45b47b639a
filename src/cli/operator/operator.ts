/** `holdfast operator`: parses the arguments, and prints the help or runs. */
import { hostname } from 'node:os'
import { EXIT } from '../../app/exit-code.ts'
import type { CommandResult } from '../command.ts'
import { operatorHelp, operatorOrder } from './operator-flags.ts'

export async function operatorCommand(argv: readonly string[]): Promise<CommandResult> {
  const order = operatorOrder(argv, process.env, hostname())
  if (order.do === 'help') return { exitCode: EXIT.ok, stdout: operatorHelp(), stderr: '' }
  if (order.do === 'refuse') {
    const lines = order.problems.map((problem) => `holdfast: ${problem}\n`)
    return { exitCode: EXIT.usage, stdout: '', stderr: lines.join('') }
  }
  const { operatorRun } = await import('./operator-run.ts')
  return operatorRun(order.settings)
}
