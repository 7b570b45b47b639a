/**
 * The fields of the engine's log records: a record has no other ones, and each has one type in every record. Decided here:
 * names, types and what a field is. docs/events-and-logs.md is made from this table. Refuses to know which record has which.
 */

type Values = {
  readonly string: string
  /** Milliseconds, counts and numbers of a protocol. */
  readonly number: number
  readonly boolean: boolean
  readonly strings: readonly string[]
  readonly object: object
  readonly objects: readonly object[]
}
type FieldType = keyof Values

const field = <T extends FieldType>(type: T, means: string) => ({ type, means })

export const LOG_FIELDS = {
  address: field('string', 'IP address that the record is about'),
  ago: field('number', 'Milliseconds since the guardian removed the addresses'),
  bytes: field('number', 'Size of a cleanup plan, in bytes'),
  change: field('string', 'What another program did to an address: `added` or `removed`'),
  changes: field('objects', 'What a reload did: `router`, and `change` (`added`, `removed`, `recreated`, `changed`)'),
  check: field('string', 'Name of a health check'),
  checksChanged: field('strings', 'Health checks that a reload added, removed or changed'),
  code: field('string', 'Error of the kernel (errno(3)), such as `ENODEV`'),
  config: field('string', 'Path of the configuration'),
  destination: field('string', 'IP address to which a packet was sent'),
  effects: field('objects', 'What the result of a health check changes: priority or fault of routers'),
  event: field('string', 'Event of a notify program, such as `active`'),
  fault: field('string', 'Fault of a router, as in `holdfast status`'),
  faults: field('strings', 'All faults of a router'),
  file: field('string', 'Path of a file'),
  flags: field('string', 'Flags of an address (`ip address`)'),
  forMillis: field('number', 'Milliseconds for which a router yields; 0 = its yield period was ended'),
  from: field('string', 'State of a router, or result of a health check, before'),
  group: field('string', 'Name of a sync group'),
  guardian: field('boolean', 'Whether a guardian removes the addresses when the engine dies'),
  hash: field('string', 'Hash of the configuration in force'),
  interface: field('string', 'Name of an interface'),
  key: field('string', 'Key of the configuration that waits for the next start'),
  latencyMs: field('number', 'Milliseconds that a health check or a notify program took'),
  limit: field('string', 'What `io: raw-socket` cannot do'),
  mac: field('string', 'MAC address of another host'),
  onDuplicate: field('string', 'What the router does about a duplicate holder: `announce`, `yield` or `alarm`'),
  pausedMs: field('number', 'Milliseconds for which a reload kept the engine from everything else'),
  peer: field('string', 'IP address of another router or host'),
  pid: field('number', 'Process that was refused; in a record without it, that of the daemon'),
  prefixLength: field('number', 'Prefix length of `address`'),
  previous: field('number', 'Priority before'),
  priority: field('number', 'Priority of the router, 0 to 255'),
  processes: field('objects', 'Processes with a VRRP socket on this node'),
  reason: field(
    'string',
    'Why: of a transition, a discarded packet, a failed check, a lost event. One word of a closed list',
  ),
  recording: field('string', 'Path of the recording (`--record`)'),
  restorationsPausedUntilMs: field(
    'number',
    'Time at which the address is installed again, milliseconds of CLOCK_MONOTONIC',
  ),
  result: field('string', 'Result of a notify program, such as `ok` or `timeout`'),
  router: field('string', 'Name of the virtual router'),
  scheduling: field('object', 'Scheduling policy and priority of engine and guardian'),
  silent: field('number', 'Milliseconds for which the engine had not advertised, or its guardian gave no sign of life'),
  since: field('string', 'Time since which a result holds (ISO 8601)'),
  snapshot: field('object', 'Everything about a router, as in `holdfast status --json`'),
  socket: field('string', 'Path of a unix socket'),
  state: field('string', 'State of the router'),
  suppressed: field('number', 'Like records that were not written before this one'),
  to: field('string', 'State of a router, or result of a health check, from now on'),
  trigger: field('string', 'What ordered a reload or a stop: a signal, or a command'),
  uid: field('number', 'User who was refused'),
  unheeded: field('strings', 'Routers with this VRID to which the new Active does not listen'),
  unit: field('number', 'Number of the cleanup plan'),
  version: field('string', 'Version of holdfast'),
  vrid: field('number', 'VRID of the router, 1 to 255'),
  vrrpVersion: field('number', 'Version of VRRP in a packet, 2 or 3'),
  waiting: field('number', 'Events that wait for the webhook'),
  warning: field('string', 'What is unusual in an advertisement that was accepted. One word of a closed list'),
} as const

type Table = typeof LOG_FIELDS
/** `undefined` is as good as no field. */
export type LogFields = { readonly [Name in keyof Table]?: Values[Table[Name]['type']] | undefined }
