/** Judges all measurements of one run of `holdfast doctor`. The findings are in the order in which they were made. */
import type { Finding } from './finding.ts'
import { addressFindings } from './judge-addresses.ts'
import { lanFindings } from './judge-lan.ts'
import { machineFindings } from './judge-machine.ts'
import { multicastFindings, vridFindings } from './judge-multicast.ts'
import { timerFindings } from './judge-timers.ts'
import type { Measured } from './measurement.ts'

export function diagnose(measured: Measured): readonly Finding[] {
  const { lans, routers } = measured
  return [
    ...machineFindings(measured),
    ...timerFindings(measured),
    ...homeless(measured),
    ...astray(measured),
    ...lans.flatMap((lan) => lanFindings(lan, routers)),
    ...lans.flatMap((lan) => multicastFindings(lan, routers)),
    ...lans.flatMap((lan) => vridFindings(lan, routers)),
    ...addressFindings(lans, routers),
  ]
}

/**
 * Returns findings for routers without an interface. A router without an interface is in fault, so no other fact about
 * it can be tested.
 */
function homeless({ lans, routers }: Measured): readonly Finding[] {
  return routers
    .filter((router) => !lans.some((lan) => lan.interface === router.interface))
    .map(({ cannotFollow, interface: on, name }) => ({
      check: 'interface',
      level: 'error',
      about: name,
      found:
        on === undefined ? (cannotFollow ?? 'no interface fits its addresses') : `the interface "${on}" does not exist`,
      advice: 'holdfast check --node shows details',
    }))
}

/**
 * Returns findings for routers that cannot follow their address. A router that cannot follow its address runs on its
 * last interface, which its address file does not name.
 */
function astray({ lans, routers }: Measured): readonly Finding[] {
  return routers.flatMap(({ cannotFollow, interface: on, name }) =>
    cannotFollow === undefined || !lans.some((lan) => lan.interface === on)
      ? []
      : {
          check: 'interface' as const,
          level: 'warning' as const,
          about: name,
          found: cannotFollow,
          advice: `doctor checked the router on "${on}", the last interface of the router; holdfast check --node shows details`,
        },
  )
}
