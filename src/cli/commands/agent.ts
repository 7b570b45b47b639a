/**
 * `holdfast agent`, `holdfast monitor` and `holdfast operator` in the help of the program. The flags of these commands
 * are written as the flags of OpenShift's monitors, which commander cannot parse. For this reason program.ts handles
 * these command lines before commander parses them (agent/agent-flags.ts, monitor/monitor-flags.ts,
 * operator/operator-flags.ts).
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

export const registerOperator: Register = (program) => {
  program
    .command('operator')
    .description(
      'run the operator of OpenShift: creates HostedNetServices and reports its state as ClusterOperator (--help lists the flags)',
    )
}
