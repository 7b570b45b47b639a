/**
 * What can be configured: one zod schema is the types, the defaults, the bounds, the words of the problems and the
 * JSON Schema that `holdfast schema` prints. Defaults that depend on the profile stay undefined here and are filled in
 * by resolve.ts. This file does not know YAML, positions, or what one value means for another (cross-check.ts).
 */
import * as z from 'zod'
import { announceSchema } from './schema/announce.ts'
import {
  absolutePath,
  apiAddress,
  duration,
  flag,
  interfaceName,
  itemName,
  list,
  listenAddress,
  macAddress,
  octets,
  oneOf,
  pattern,
  section,
  whole,
} from './schema/field.ts'
import { healthcheckSchema } from './schema/healthcheck.ts'
import { holdingKey, type InterfaceKey } from './schema/holding.ts'
import { knobShape } from './schema/knobs.ts'
import { notify } from './schema/notify.ts'
import { expandPresets, PRESETS } from './schema/preset.ts'
import { trackSchema } from './schema/track.ts'
import { hint, PEERS_WANTED, transportSchema } from './schema/transport.ts'
import { virtualAddress } from './schema/virtual-address.ts'
import { webhook } from './schema/webhook.ts'

const SECOND = 1000
const HOUR = 3_600_000
const NOTIFY_WANTED = 'a mapping with webhook wanted'
const INTERVAL_RANGE = '10ms to 40.95s (version 2: 1s to 255s)'
/** Each is asked every few seconds while somebody looks at the page. */
const MOST_PEERS = 16
export const DEFAULT_RUN_DIRECTORY = '/run/holdfast'
const KIB = 1024
const MIB = 1024 * KIB

/** What lies there unless it is said. */
export function inRunDirectory(folder: string): { readonly socket: string; readonly journal: string } {
  const inside = (name: string) => `${folder.replace(/\/+$/, '')}/${name}`
  return { socket: inside('holdfast.sock'), journal: inside('events.jsonl') }
}

// Keys of a mapping named in a problem could be the password itself (schema-problem.ts).
const authentication = () =>
  section(
    {
      type: oneOf('simple').describe('simple: the password is readable in every packet (RFC 2338 §5.3.6)'),
      password: pattern(/^\P{Cc}+$/u, 'a text wanted, in quotes, of which the first 8 octets count').describe(
        'The first 8 octets count',
      ),
    },
    'a mapping with type and password wanted',
  )

export const virtualRouterSchema = section(
  {
    name: itemName().describe('Unique; names the router in logs, metrics and commands'),
    vrid: whole(1, 255).describe('VRID (RFC 9568 §5.2.3), unique on its interface and family'),
    interface: z
      .union([interfaceName(), holdingKey()], {
        error: 'the name of an interface wanted, auto, or { holding: an address or a file that says one }',
      })
      .transform((value): InterfaceKey => value)
      .describe(
        'Name, or auto: the interface whose network holds the first address that is not link-local, or { holding }: the one ' +
          'that has a certain address',
      ),
    addresses: list(virtualAddress(), 'a list of addresses wanted')
      .min(1, { error: 'at least one address wanted' })
      .max(255, { error: 'at most 255 addresses wanted, because the packet counts them in one octet' })
      .describe(
        'The VIPs (IPvX_Address) of one family, installed as /32 or /128; a prefix only selects the network for auto',
      ),
    excludedAddresses: list(virtualAddress(), 'a list of addresses wanted')
      .max(255, { error: 'at most 255 excluded addresses wanted' })
      .default([])
      .describe('Further addresses, of either family, that are not in the packet'),
    version: z
      .union([z.literal(2), z.literal(3)], { error: '2 or 3 wanted' })
      .default(3)
      .describe('VRRP version; 2 (RFC 3768) is IPv4 only'),
    priority: whole(1, 255).default(100).describe('Priority; 255 = this node owns the addresses'),
    // What one version cannot carry is contradiction.ts.
    advertisementInterval: duration(10, 255 * SECOND, 10, INTERVAL_RANGE)
      .prefault('1s')
      .describe('Advertisement_Interval, 10ms to 40.95s in whole centiseconds; version 2: 1s to 255s in whole seconds'),
    authentication: authentication().optional().describe('Version 2 only'),
    preempt: flag().default(true).describe('Preempt_Mode'),
    preemptDelay: duration(0, 1000 * SECOND)
      .prefault('0s')
      .describe('Follow a lower-priority Active this long before preempting it'),
    minHold: duration(0, HOUR).prefault('10s').describe('No fastPreempt within this time of the last change of owner'),
    startAs: oneOf('backup', 'active')
      .default('backup')
      .describe(
        'active: as such a state in a keepalived file: a Backup at first all the same, which preempts whatever preempt and preemptDelay say',
      ),
    fault: pattern(/^\P{Cc}{1,1000}$/u, 'a reason of up to 1000 characters on one line wanted')
      .optional()
      .describe('The router takes no part and is in fault with this reason'),
    margin: whole(0, 253).default(0).describe('Preempt only an Active whose priority is lower by more than this'),
    transport: transportSchema
      .default('multicast')
      .describe('multicast, { multicast: { source } } or { unicast: { source, peers, ttl } }'),
    peers: list(hint(), PEERS_WANTED).optional().describe('With multicast: the other routers, a hint for the stagger'),
    track: list(trackSchema, 'a list of trackers wanted')
      .default([])
      .describe('What else must work, and what it weighs'),
    preset: oneOf(...PRESETS)
      .optional()
      .describe('Health checks that come by a name, with their weights (docs/healthchecks.md)'),
    announce: announceSchema.prefault({}).describe('Schedule of the gratuitous ARP or unsolicited NA'),
    lifetime: oneOf('auto', 'off')
      .default('auto')
      .describe(
        'auto: the kernel drops the addresses when nobody has renewed them for about an Active_Down_Interval, 2s at least; ' +
          'off: they stay until they are taken off',
      ),
    onDuplicate: oneOf('announce', 'yield', 'alarm')
      .default('announce')
      .describe('What an Active does when another host answers for its addresses, besides telling it'),
    duplicateAllowed: list(macAddress(), 'a list of MAC addresses wanted')
      .max(64, { error: 'at most 64 MAC addresses wanted' })
      .default([])
      .describe('MAC addresses whose answers for the addresses mean nothing, such as a fabric with proxy ARP'),
    notify: notify().optional().describe('Programs that are told of its changes of state (docs/notify.md)'),
    profile: oneOf('holdfast', 'keepalived', 'rfc9568').default('holdfast').describe('Defaults of the options below'),
    addressPrefix: oneOf('host', 'written')
      .optional()
      .describe('written: addresses are installed with the prefix length that is written, default: by profile'),
    ownAddresses: oneOf('node', 'installed')
      .optional()
      .describe(
        'Priority 255. node: this node has the addresses; installed: like any other router, default: by profile',
      ),
    ...knobShape,
  },
  'a mapping with name, vrid, interface and addresses wanted',
)

export const syncGroupSchema = section(
  {
    name: itemName().describe('Unique among the groups'),
    members: list(itemName(), 'a list of names of virtual routers wanted')
      .min(1, { error: 'at least one member wanted' })
      .describe('Virtual routers that are Active together or not at all; each in one group only'),
    track: list(trackSchema, 'a list of trackers wanted').default([]).describe('Tracked by every member'),
    preset: oneOf(...PRESETS)
      .optional()
      .describe('Health checks that come by a name, tracked by every member'),
    notify: notify().optional().describe('Programs that are told when the group as a whole has changed'),
  },
  'a mapping with name and members wanted',
)

/** A part of its own, because the command line may say some of it. */
export const apiSchema = section(
  {
    socket: absolutePath().optional().describe('Control and status, mode 0600, default RUNDIRECTORY/holdfast.sock'),
    listen: z
      .union([z.literal(false), listenAddress()], {
        error: 'an IP address and a port wanted, written like 127.0.0.1:9655, or false',
      })
      .prefault('127.0.0.1:9655')
      .describe('Read-only HTTP: /metrics and the like; false = off'),
    metricsCompat: oneOf('none', 'keepalived-exporter')
      .default('none')
      .describe('keepalived-exporter: /metrics has the names of that exporter as well'),
    public: flag().default(false).describe('Allows listen to be another address than loopback'),
    peers: list(apiAddress(), 'a list of addresses of nodes wanted')
      .max(MOST_PEERS, { error: `at most ${MOST_PEERS} nodes wanted` })
      .default([])
      .describe('The API of the other nodes, which the status page shows and holdfast explain asks'),
  },
  'a mapping with socket, listen, public, metricsCompat and peers wanted',
)

export const configSchema = section(
  {
    version: z.literal(1, { error: '1 wanted' }).default(1).describe('Version of this file format'),
    runDirectory: absolutePath()
      .default(DEFAULT_RUN_DIRECTORY)
      .describe('Where the journal of installed addresses and the control socket live'),
    api: apiSchema.prefault({}).describe('How status and metrics are reached'),
    log: section(
      {
        level: oneOf('trace', 'debug', 'info', 'warn', 'error').default('info').describe('The least level written'),
        format: oneOf('json', 'text', 'journald')
          .optional()
          .describe('Default: journald for the systemd journal, text on a terminal, json for everything else'),
      },
      'a mapping with level and format wanted',
    )
      .prefault({})
      .describe('The log, on standard output'),
    journal: section(
      {
        file: z
          .union([z.literal(false), absolutePath()], { error: 'an absolute path wanted, or false' })
          .optional()
          .describe('Where events are kept, default RUNDIRECTORY/events.jsonl; false = in memory alone'),
        maxSize: octets(64 * KIB, 1024 * MIB)
          .prefault('4MiB')
          .describe('Of the file and the one before it together, 64KiB to 1024MiB'),
      },
      'a mapping with file and maxSize wanted',
    )
      .prefault({})
      .describe('The event journal, which holdfast events and holdfast explain read'),
    notify: section({ webhook: webhook().optional().describe('A URL to which events are posted') }, NOTIFY_WANTED)
      .optional()
      .describe('Who is told of what happens on this node; virtual routers and groups have a key of the same name'),
    io: oneOf('addon', 'raw-socket')
      .default('addon')
      .describe('How packets are sent and received: the native addon, or the npm package raw-socket'),
    healthchecks: list(healthcheckSchema, 'a list of health checks wanted')
      .default([])
      .describe('What is asked of the service that the addresses lead to; who tracks a check says what it weighs'),
    virtualRouters: list(virtualRouterSchema, 'a list of virtual routers wanted').describe(
      'One entry per virtual router; an empty list is a daemon that waits for a reload',
    ),
    syncGroups: list(syncGroupSchema, 'a list of sync groups wanted')
      .default([])
      .describe('Virtual routers that move together'),
  },
  'a mapping with virtualRouters wanted',
).transform((config) => ({
  ...config,
  ...expandPresets(config),
  api: { ...config.api, socket: config.api.socket ?? inRunDirectory(config.runDirectory).socket },
  journal: { ...config.journal, file: config.journal.file ?? inRunDirectory(config.runDirectory).journal },
}))

export type Config = z.output<typeof configSchema>
export type LogFormat = NonNullable<Config['log']['format']>
export type VirtualRouter = z.output<typeof virtualRouterSchema>
export type SyncGroup = z.output<typeof syncGroupSchema>
export type HealthcheckConfig = Config['healthchecks'][number]
export type { Track } from './schema/track.ts'

/** What a file may contain, as JSON Schema 2020-12: for editors, and for the known keys of schema-problem.ts. */
export const jsonSchema = () => z.toJSONSchema(configSchema, { io: 'input' })
