/**
 * Defines the fields of the engine's log records. A record has no other fields, and each field has one type in all
 * records. `docs/events-and-logs.md` is generated from this table. The tables of events name the fields of each event.
 */

type Values = {
  readonly string: string
  /** A number: a duration in milliseconds, a count, or a number of a protocol. */
  readonly number: number
  readonly boolean: boolean
  readonly strings: readonly string[]
  readonly object: object
  readonly objects: readonly object[]
}
type FieldType = keyof Values

const field = <T extends FieldType>(type: T, means: string) => ({ type, means })

export const LOG_FIELDS = {
  actives: field('strings', 'IP addresses of the routers that advertise as Active'),
  address: field('string', 'IP address that the record is about'),
  ago: field('number', 'Milliseconds since the guardian removed the addresses'),
  bytes: field('number', 'Size of a cleanup plan, in bytes'),
  change: field('string', 'Change of an address by another program: `added` or `removed`'),
  changes: field('objects', 'Changes of a reload: `router`, and `change` (`added`, `removed`, `recreated`, `changed`)'),
  check: field('string', 'Name of a health check'),
  checksChanged: field('strings', 'Health checks that a reload added, removed or changed'),
  code: field('string', 'Error of the kernel (errno(3)), such as `ENODEV`'),
  config: field('string', 'Path of the configuration'),
  destination: field('string', 'IP address to which a packet was sent'),
  effects: field('objects', 'Routers whose priority or fault a health check changes'),
  fault: field('string', 'Fault of a router, as in `holdfast status`'),
  faults: field('strings', 'All faults of a router'),
  file: field('string', 'Path of a file'),
  flags: field('string', 'Flags of an address (`ip address`)'),
  forMillis: field('number', 'Milliseconds for which a router yields; 0 = an operator ended its yield period'),
  forMs: field('number', 'Milliseconds for which several routers have advertised as Active'),
  from: field('string', 'Former state of a router, or former result of a health check'),
  group: field('string', 'Name of a sync group'),
  guardian: field('boolean', 'Whether a guardian removes the addresses when the engine dies'),
  hash: field('string', 'Hash of the configuration in force'),
  interface: field('string', 'Name of an interface'),
  key: field('string', 'Key of the configuration that waits for the next start'),
  latencyMs: field('number', 'Milliseconds that a health check or a notify program took'),
  limit: field('string', 'Limit of `io: raw-socket`'),
  mac: field('string', 'MAC address of another host'),
  notification: field('string', 'State change of which a notify program is notified, such as `active`'),
  onDuplicate: field('string', 'Reaction of the router to a duplicate holder: `announce`, `yield` or `alarm`'),
  pausedMs: field('number', 'Milliseconds for which a reload blocked the engine'),
  peer: field('string', 'IP address of another router or host'),
  pid: field('number', 'Number of the process that was refused, otherwise of the daemon'),
  prefixLength: field('number', 'Prefix length of `address`'),
  previous: field('number', 'Former priority'),
  priority: field('number', 'Priority of the router, 0 to 255'),
  processes: field('objects', 'Processes with a VRRP socket on this node'),
  reason: field(
    'string',
    'Reason of a transition, a discarded packet, a failed check or a lost event. One word of a closed list',
  ),
  recording: field('string', 'Path of the recording (`--record`)'),
  restarts: field('number', 'Restarts of the engine since the guardian started'),
  restorationsPausedUntilMs: field(
    'number',
    'Time at which the address is installed again, milliseconds of CLOCK_MONOTONIC',
  ),
  result: field('string', 'Result of a notify program, such as `ok` or `timeout`'),
  router: field('string', 'Name of the virtual router'),
  routers: field('strings', 'Names of virtual routers'),
  scheduling: field('object', 'Scheduling policy and priority of engine and guardian'),
  signal: field('number', 'Number of the signal that ended the engine'),
  silent: field(
    'number',
    'Milliseconds for which the engine did not advertise or did not run, or the guardian did not respond',
  ),
  since: field('string', 'Time since which a result holds (ISO 8601)'),
  snapshot: field('object', 'All data of a router, as in `holdfast status --json`'),
  socket: field('string', 'Path of a unix socket'),
  state: field('string', 'State of the router'),
  suppressed: field('number', 'Number of similar records that were not written before this record'),
  to: field('string', 'New state of a router, or new result of a health check'),
  trigger: field('string', 'Origin of a reload or a stop: a signal, or a command'),
  uid: field('number', 'Number of the user that was refused'),
  unheeded: field('strings', 'Routers with this VRID whose advertisements the new Active discards'),
  unit: field('number', 'Number of the cleanup plan'),
  version: field('string', 'Version of holdfast'),
  vrid: field('number', 'VRID of the router, 1 to 255'),
  vrrpVersion: field('number', 'Version of VRRP in a packet, 2 or 3'),
  waiting: field('number', 'Number of events that wait for the webhook'),
  warning: field('string', 'Unusual property of an advertisement that was accepted. One word of a closed list'),
} as const

type Table = typeof LOG_FIELDS
export type LogField = keyof Table
/** Values of some fields. A field that is `undefined` is left out. */
export type LogFields<Name extends LogField = LogField> = {
  readonly [Each in Name]?: Values[Table[Each]['type']] | undefined
}
