/**
 * `holdfast corednsmonitor` in the help of the program. Its flags are those of runtimecfg's corednsmonitor, which
 * commander cannot parse (dns/monitor-flags.ts).
 */
import type { Register } from '../command.ts'

export const registerCorednsMonitor: Register = (program) => {
  program
    .command('corednsmonitor')
    .description("keep the Corefile of this node's CoreDNS up to date (runtimecfg's flags; --help lists them)")
}
