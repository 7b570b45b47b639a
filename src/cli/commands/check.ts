/** `holdfast check`: options. */
import type { Register } from '../command.ts'

type Options = { json?: boolean; strict?: boolean; node?: boolean; keepalived?: boolean }

export const registerCheck: Register = (program, end) => {
  program
    .command('check')
    .description('validate configuration files; each problem as file:line:column; exit 0 or 78')
    .argument('<files...>', 'YAML or keepalived configuration; - is standard input')
    .option('--json', 'print JSON; a list for several files')
    .option('--strict', 'warnings fail as well (exit 78)')
    .option('--node', 'also check against the interfaces and addresses of this node')
    .option('-f, --keepalived', "read the files as keepalived's")
    .action(async (files: string[], { node: isOnNode = false, ...options }: Options) => {
      const { checkFiles } = await import('../check.ts')
      if (!isOnNode) return end(await checkFiles(files, options))
      const { nodeHere } = await import('../../app/machine/node.ts')
      const { vrrpBeside } = await import('../../app/machine/vrrp-beside.ts')
      // A running keepalived is a conflict. A running holdfast is not: the checked file may be its next configuration.
      const { refusal } = vrrpBeside(false)
      const beside = refusal === undefined ? [] : [refusal]
      end(await checkFiles(files, { ...options, node: nodeHere(), beside }))
    })
}
