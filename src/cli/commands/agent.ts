/**
 * `holdfast agent` in the help of the program. Its flags are dynkeepalived's, which commander cannot read: program.ts hands
 * the command line over before commander sees it (agent/agent-flags.ts).
 */
import type { Register } from '../command.ts'

export const registerAgent: Register = (program) => {
  program
    .command('agent')
    .description(
      'beside the engine on a node of OpenShift: peers from the cluster (as dynkeepalived; --help for its flags)',
    )
}
