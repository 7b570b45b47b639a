/** `holdfast check`: options. */
import type { Register } from '../command.ts'

type Options = { json?: boolean; strict?: boolean; node?: boolean; keepalived?: boolean }

export const registerCheck: Register = (program, end) => {
  program
    .command('check')
    .description('validate configurations; every problem as file:line:column; exit 0 or 78')
    .argument('<files...>', "YAML, or keepalived's; - is standard input")
    .option('--json', 'as JSON; of several files a list')
    .option('--strict', 'warnings fail as well (exit 78)')
    .option('--node', 'also against the interfaces and addresses of this node')
    .option('-f, --keepalived', "it is keepalived's, also where it does not look like that")
    .action(async (files: string[], { node: isOnNode = false, ...options }: Options) => {
      const { checkFiles } = await import('../check.ts')
      if (!isOnNode) return end(await checkFiles(files, options))
      const { nodeHere } = await import('../../app/machine/node.ts')
      const { vrrpBeside } = await import('../../app/machine/vrrp-beside.ts')
      // Only a keepalived: a holdfast that runs here may be the daemon whose next configuration this is.
      const { refusal } = vrrpBeside(false)
      const beside = refusal === undefined ? [] : [refusal]
      end(await checkFiles(files, { ...options, node: nodeHere(), beside }))
    })
}
