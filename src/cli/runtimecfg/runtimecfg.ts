/** `holdfast runtimecfg`, also under that name: runs the command of holdfast that does the same as runtimecfg's command. */
import { EXIT } from '../../app/exit-code.ts'
import { refusedValue } from '../../base/refused-value.ts'
import type { CommandResult } from '../command.ts'

const HELP = `Usage: holdfast runtimecfg COMMAND (also under the name runtimecfg)

  render KUBECONFIG TEMPLATE...  execute templates with the facts of this node (--help lists the flags)
  display [KUBECONFIG]           print these facts as JSON
  vr-ids NAME                    print the VRIDs of a cluster (as holdfast vrid)
  node-ip show|set               find the address of the node (as holdfast node-ip)
  -h, --help                     print this help
`

/** Runs a command of runtimecfg. `main` runs a command of holdfast and returns its exit status. */
export async function runtimecfgCommand(
  [command, ...rest]: readonly string[],
  main: (argv: readonly string[]) => Promise<number>,
): Promise<CommandResult | number> {
  switch (command) {
    case 'render':
      return (await import('./render.ts')).renderCommand(rest)
    case 'display':
      return (await import('./render.ts')).displayCommand(rest)
    case 'vr-ids':
      return await main(['vrid', ...rest])
    case 'node-ip':
      return await main(['node-ip', ...rest])
    case 'help':
    case '--help':
    case '-h':
      return { exitCode: EXIT.ok, stdout: HELP, stderr: '' }
    default: {
      const problem = refusedValue('COMMAND', command, 'render, display, vr-ids or node-ip')
      return { exitCode: EXIT.usage, stdout: '', stderr: `holdfast: ${problem}\n` }
    }
  }
}
