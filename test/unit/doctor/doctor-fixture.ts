/** A healthy machine on a healthy LAN, as a doctor would have measured it; each test breaks one thing. */
import { diagnose } from '../../../src/doctor/diagnosis.ts'
import type { Check, Finding } from '../../../src/doctor/finding.ts'
import type {
  HeardRouter,
  LanState,
  Listening,
  MachineState,
  Measured,
  PlannedRouter,
  TimerRun,
} from '../../../src/doctor/measurement.ts'
import { address } from '../../../src/wire/address.ts'
import { type Mac, parseMac } from '../../../src/wire/mac.ts'

export function mac(text: string): Mac {
  const parsed = parseMac(text)
  if (parsed === undefined) throw new Error(`${text} is no MAC address`)
  return parsed
}

export const VIP = address('192.0.2.100')
export const SELF = address('192.0.2.1')
export const PEER = address('192.0.2.2')
export const OTHER = address('192.0.2.3')
export const OWN_MAC = mac('02:00:00:00:00:01')
export const PEER_MAC = mac('02:00:00:00:00:02')
export const UNKNOWN_MAC = mac('02:00:00:00:00:99')

export const ROUTER: PlannedRouter = {
  name: 'api',
  vrid: 51,
  family: 'ipv4',
  version: 3,
  priority: 100,
  intervalMs: 1_000,
  interface: 'eth0',
  source: SELF,
  addresses: [VIP],
  held: [{ address: VIP, interface: undefined }],
  owner: false,
  multicast: true,
  peers: [PEER],
  datagramOctets: 32,
}

export const HEARD: HeardRouter = {
  source: PEER,
  mac: PEER_MAC,
  vrid: 51,
  version: 3,
  priority: 200,
  intervalMs: 1_000,
  addresses: [VIP],
  group: true,
  packets: 5,
  delivered: 5,
  discard: undefined,
}

export const LISTENING: Listening = {
  forMs: 5_000,
  heard: [HEARD],
  left: 0,
  refused: undefined,
  passedOutput: true,
  looped: true,
  messages: { sent: 10, left: 10, failure: undefined, heard: [] },
}

export const LAN: LanState = {
  interface: 'eth0',
  mac: OWN_MAC,
  mtu: 1500,
  up: true,
  carrier: true,
  portOf: undefined,
  own: [{ address: SELF, prefixLength: 24, dadFailed: false, deprecated: false }],
  settings: { rpFilter: 0, arpIgnore: 0, arpFilter: 0, disableIpv6: 0 },
  manager: { networkManager: undefined, networkd: undefined },
  listening: { ipv4: LISTENING, ipv6: { unmeasured: 'the interface has no link-local IPv6 address' } },
  claims: [
    { address: VIP, mac: PEER_MAC },
    { address: PEER, mac: PEER_MAC },
  ],
  asked: [VIP, PEER, SELF].map((each) => ({ address: each, times: 3 })),
  routes: [{ address: PEER, interface: 'eth0', refused: false }],
}

export const MACHINE: MachineState = {
  kernel: '6.1.0',
  processors: 4,
  missingCapabilities: [],
  daemon: undefined,
  user: 0,
  mayRealtime: true,
  receiveBufferLimit: 212_992,
  receiveBufferWanted: 4 * 1024 * 1024,
  clockSource: 'tsc',
  stolenShare: 0,
  throttled: 0,
  pressureMs: 10,
  durationMs: 5_000,
  monotonicOffset: 0,
  timeNamespaceChanges: false,
  missingFeatures: [],
  guardianConfined: true,
  lease: undefined,
  ipForward: false,
  processes: [],
  unseenVrrpSockets: 0,
}

/** 500 deadlines, of which the last was the worst. */
export const timerRun = (worstMs: number, policy = 'SCHED_OTHER'): TimerRun => ({
  policy,
  priority: policy === 'SCHED_OTHER' ? 0 : 20,
  everyMs: 10,
  lateness: [...Array.from({ length: 499 }, () => 0.5), worstMs],
  offsets: Array.from({ length: 500 }, () => 1_700_000_000_000),
})

export const MEASURED: Measured = {
  durationMs: 5_000,
  timers: { ordinary: timerRun(2), realtime: timerRun(1, 'SCHED_RR') },
  machine: MACHINE,
  lans: [LAN],
  routers: [ROUTER],
}

type Changes = {
  readonly machine?: Partial<MachineState>
  readonly timers?: Partial<Measured['timers']>
  readonly lan?: Partial<LanState>
  readonly listening?: Partial<Listening>
  readonly heard?: Partial<HeardRouter>
  readonly router?: Partial<PlannedRouter>
}

export function measuredWith({ heard, lan, listening, machine, router, timers }: Changes): Measured {
  const ears: Listening = { ...LISTENING, heard: [{ ...HEARD, ...heard }], ...listening }
  return {
    ...MEASURED,
    timers: { ...MEASURED.timers, ...timers },
    machine: { ...MACHINE, ...machine },
    lans: [{ ...LAN, listening: { ...LAN.listening, ipv4: ears }, ...lan }],
    routers: [{ ...ROUTER, ...router }],
  }
}

export const told = ({ about, advice, check, found, level }: Finding): string =>
  `${level} ${check}${about === undefined ? '' : ` (${about})`}: ${found}${advice === undefined ? '' : ` -> ${advice}`}`

/** What is worse than ok, of one check where it is named. */
export const complaints = (measured: Measured, check?: Check): readonly string[] =>
  diagnose(measured)
    .filter((finding) => finding.level !== 'ok' && (check === undefined || finding.check === check))
    .map(told)
