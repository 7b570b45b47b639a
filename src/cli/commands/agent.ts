/**
 * `holdfast agent` in the help of the program. Its flags are those of dynkeepalived, which commander cannot parse. So
 * program.ts handles the agent's command line before commander parses it (agent/agent-flags.ts).
 */
import type { Register } from '../command.ts'

export const registerAgent: Register = (program) => {
  program
    .command('agent')
    .description(
      "run the OpenShift agent: gives the engine its peers from the cluster (dynkeepalived's flags; --help lists them)",
    )
}
