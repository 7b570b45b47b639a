/**
 * `holdfast agent` and `holdfast monitor` in the help of the program. Their flags are those of OpenShift's monitors, which
 * commander cannot parse. So program.ts handles these command lines before commander parses them (agent/agent-flags.ts,
 * monitor/monitor-flags.ts).
 */
import type { Register } from '../command.ts'

export const registerAgent: Register = (program) => {
  program
    .command('agent')
    .description(
      "run the OpenShift agent: gives the engine its peers from the cluster (dynkeepalived's flags; --help lists them)",
    )
}

export const registerMonitor: Register = (program) => {
  program
    .command('monitor')
    .description(
      "keep HAProxy in step with the control plane nodes, and send the API's VIPs to it (flags of OpenShift's monitor; --help lists them)",
    )
}
