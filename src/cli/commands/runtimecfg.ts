/**
 * `holdfast runtimecfg` and `holdfast corednsmonitor` in the help of the program. The flags of these commands are the
 * flags of runtimecfg's programs, which commander cannot parse (runtimecfg/render-flags.ts, dns/monitor-flags.ts).
 */
import type { Register } from '../command.ts'

export const registerRuntimecfg: Register = (program) => {
  program
    .command('runtimecfg')
    .description("execute a cluster's templates as runtimecfg render; also vr-ids and node-ip (--help lists them)")
}

export const registerCorednsMonitor: Register = (program) => {
  program
    .command('corednsmonitor')
    .description("keep the Corefile of this node's CoreDNS up to date (runtimecfg's flags; --help lists them)")
}
