/**
 * The schema of the whole configuration. The zod schema gives the types, the defaults, the bounds, the texts of the
 * problems, and the JSON Schema that `holdfast schema` prints. Defaults that depend on the profile are not set by the
 * schema, but in resolve.ts. This file knows nothing about YAML, positions in the text, and contradictions between
 * values (cross-check.ts).
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
import { hint, PEERS_EXPECTED, transportSchema } from './schema/transport.ts'
import { virtualAddress } from './schema/virtual-address.ts'
import { webhook } from './schema/webhook.ts'

const SECOND = 1000
const HOUR = 3_600_000
const NOTIFY_EXPECTED = 'a mapping with webhook'
const INTERVAL_RANGE = '10ms to 40.95s (version 2: 1s to 255s)'
/**
 * Largest number of entries in `peers` of the status page. An open status page sends a request to each of these nodes
 * every few seconds.
 */
const MOST_PEERS = 16
export const DEFAULT_RUN_DIRECTORY = '/run/holdfast'
const KIB = 1024
const MIB = 1024 * KIB

/** Returns the default paths in the run directory. */
export function inRunDirectory(folder: string): { readonly socket: string; readonly journal: string } {
  const inside = (name: string) => `${folder.replace(/\/+$/, '')}/${name}`
  return { socket: inside('holdfast.sock'), journal: inside('events.jsonl') }
}

// Unknown keys are not listed for this mapping, because a message about them could contain the password
// (schema-problem.ts).
const authentication = () =>
  section(
    {
      type: oneOf('simple').describe('simple: the password is readable in every packet (RFC 2338 §5.3.6)'),
      password: pattern(/^\P{Cc}+$/u, 'a text in quotes, of which the first 8 octets count').describe(
        'Password of VRRP version 2; only the first 8 octets are used',
      ),
    },
    'a mapping with type and password ',
  )

export const virtualRouterSchema = section(
  {
    name: itemName().describe('Unique name of the router in logs, metrics and commands'),
    vrid: whole(1, 255).describe('VRID (RFC 9568 §5.2.3), unique on its interface and family'),
    interface: z
      .union([interfaceName(), holdingKey()], {
        error: 'the name of an interface, auto, or { holding: an address, or a file that contains one }',
      })
      .transform((value): InterfaceKey => value)
      .describe(
        'Name of the interface; auto: the interface whose network contains the first VIP that is not link-local; ' +
          '{ holding }: the interface that has a certain address of this node',
      ),
    addresses: list(virtualAddress(), 'a list of addresses')
      .min(1, { error: 'at least one address' })
      .max(255, { error: 'at most 255 addresses, because the packet counts them in one octet' })
      .describe(
        'VIPs (IPvX_Address) of one family, installed as /32 or /128; a prefix length only selects the network for auto',
      ),
    excludedAddresses: list(virtualAddress(), 'a list of addresses')
      .max(255, { error: 'at most 255 excluded addresses' })
      .default([])
      .describe('Further VIPs, of either family, that are not in the packet'),
    version: z
      .union([z.literal(2), z.literal(3)], { error: '2 or 3' })
      .default(3)
      .describe('VRRP version; 2 (RFC 3768) is IPv4 only'),
    priority: whole(1, 255).default(100).describe('Priority; 255: address owner, the addresses belong to this node'),
    // An interval that one VRRP version cannot carry is refused in contradiction.ts.
    advertisementInterval: duration(10, 255 * SECOND, 10, INTERVAL_RANGE)
      .prefault('1s')
      .describe('Advertisement_Interval, 10ms to 40.95s in whole centiseconds; version 2: 1s to 255s in whole seconds'),
    authentication: authentication().optional().describe('Version 2 only'),
    preempt: flag().default(true).describe('Preempt_Mode'),
    preemptDelay: duration(0, 1000 * SECOND)
      .prefault('0s')
      .describe('Time for which a Backup waits before it takes over from an Active with a lower priority'),
    minHold: duration(0, HOUR)
      .prefault('10s')
      .describe('Time after a change of the Active in which fastPreempt is off'),
    startAs: oneOf('backup', 'active')
      .default('backup')
      .describe(
        'active: as with this state in a keepalived file, the router starts as Backup and preempts, whatever preempt and preemptDelay are',
      ),
    fault: pattern(/^\P{Cc}{1,1000}$/u, 'a reason of up to 1000 characters on one line')
      .optional()
      .describe('Keeps the router out of the election: it is in fault, with this text as the reason'),
    margin: whole(0, 253)
      .default(0)
      .describe('A Backup preempts only if the priority of the Active is lower by more than this'),
    transport: transportSchema
      .default('multicast')
      .describe('multicast, { multicast: { source } } or { unicast: { source, peers, ttl } }'),
    peers: list(hint(), PEERS_EXPECTED)
      .optional()
      .describe('With multicast: the other routers, from which the stagger is computed'),
    track: list(trackSchema, 'a list of trackers')
      .default([])
      .describe('Interfaces and health checks that change the priority, with their weights'),
    preset: oneOf(...PRESETS)
      .optional()
      .describe('Name of a predefined set of health checks and weights (docs/healthchecks.md)'),
    announce: announceSchema
      .prefault({})
      .describe('Schedule of gratuitous ARP and unsolicited Neighbor Advertisements'),
    lifetime: oneOf('auto', 'off')
      .default('auto')
      .describe(
        'auto: the kernel removes the VIPs if the guardian has not renewed them for about an Active_Down_Interval, at least 2s; ' +
          'off: addresses stay until a program removes them',
      ),
    onDuplicate: oneOf('announce', 'yield', 'alarm')
      .default('announce')
      .describe('What an Active does if another host answers for its addresses, besides reporting it'),
    duplicateAllowed: list(macAddress(), 'a list of MAC addresses')
      .max(64, { error: 'at most 64 MAC addresses' })
      .default([])
      .describe('MAC addresses that may answer for the VIPs, such as a switch with proxy ARP'),
    notify: notify().optional().describe('Programs that run when the router changes its state (docs/notify.md)'),
    profile: oneOf('holdfast', 'keepalived', 'rfc9568')
      .default('holdfast')
      .describe('Set of defaults for the options below'),
    addressPrefix: oneOf('host', 'written')
      .optional()
      .describe(
        'host: addresses are installed as /32 or /128; written: with the prefix length in this file; default: by profile',
      ),
    ownAddresses: oneOf('node', 'installed')
      .optional()
      .describe(
        'For priority 255. node: the node has the addresses already; installed: the router installs them; default: by profile',
      ),
    ...knobShape,
  },
  'a mapping with name, vrid, interface and addresses',
)

export const syncGroupSchema = section(
  {
    name: itemName().describe('Unique name of the group'),
    members: list(itemName(), 'a list of names of virtual routers')
      .min(1, { error: 'at least one member' })
      .describe('Virtual routers that are Active together or not at all; a router is in one group at most'),
    track: list(trackSchema, 'a list of trackers')
      .default([])
      .describe('Interfaces and health checks that change the priority of every member'),
    preset: oneOf(...PRESETS)
      .optional()
      .describe('Name of a predefined set of health checks, tracked by every member'),
    notify: notify()
      .optional()
      .describe('Programs that run when all members of the sync group have changed their state'),
  },
  'a mapping with name and members',
)

/**
 * Schema of the section `api`. The schema of `api` is exported, because options of the command line replace some keys
 * of this section.
 */
export const apiSchema = section(
  {
    socket: absolutePath()
      .optional()
      .describe('Unix socket for control and status, mode 0600; default: RUNDIRECTORY/holdfast.sock'),
    listen: z
      .union([z.literal(false), listenAddress()], {
        error: 'an IP address and a port, such as 127.0.0.1:9655, or false',
      })
      .prefault('127.0.0.1:9655')
      .describe('Address of the read-only HTTP server (/metrics, status page); false: off'),
    metricsCompat: oneOf('none', 'keepalived-exporter')
      .default('none')
      .describe('keepalived-exporter: /metrics has the metric names of that exporter as well'),
    public: flag().default(false).describe('Allows an address other than loopback in listen'),
    peers: list(apiAddress(), 'a list of addresses of nodes')
      .max(MOST_PEERS, { error: `at most ${MOST_PEERS} nodes` })
      .default([])
      .describe('HTTP servers of the other nodes, for the status page and holdfast explain'),
  },
  'a mapping with socket, listen, public, metricsCompat and peers ',
)

export const configSchema = section(
  {
    version: z.literal(1, { error: '1' }).default(1).describe('Version of this file format'),
    runDirectory: absolutePath()
      .default(DEFAULT_RUN_DIRECTORY)
      .describe('Folder of the control socket, the event journal, and the list of installed addresses'),
    api: apiSchema.prefault({}).describe('Sockets for control, status and metrics'),
    log: section(
      {
        level: oneOf('trace', 'debug', 'info', 'warn', 'error')
          .default('info')
          .describe('Lowest level that is written'),
        format: oneOf('json', 'text', 'journald')
          .optional()
          .describe('Default: journald for the systemd journal, text on a terminal, json for everything else'),
      },
      'a mapping with level and format ',
    )
      .prefault({})
      .describe('The log, on standard output'),
    journal: section(
      {
        file: z
          .union([z.literal(false), absolutePath()], { error: 'an absolute path or false' })
          .optional()
          .describe('File of the event journal, default: RUNDIRECTORY/events.jsonl; false: in memory only'),
        maxSize: octets(64 * KIB, 1024 * MIB)
          .prefault('4MiB')
          .describe('Largest size of the journal file and the previous journal file together, 64KiB to 1024MiB'),
      },
      'a mapping with file and maxSize ',
    )
      .prefault({})
      .describe('The event journal, which holdfast events and holdfast explain read'),
    notify: section({ webhook: webhook().optional().describe('URL to which events are posted') }, NOTIFY_EXPECTED)
      .optional()
      .describe('Receivers of the events of this node; virtual routers and groups have a key of the same name'),
    lease: oneOf('on', 'off')
      .default('off')
      .describe(
        'on: the guardian repeats the advertisements of an Active while the engine proves every 1.2s that it works; ' +
          'off: the engine sends each advertisement',
      ),
    onCrash: oneOf('restart', 'release')
      .default('release')
      .describe(
        'restart: the guardian starts an engine that crashed again, and the addresses stay (needs lease: on); ' +
          'release: the guardian removes the addresses',
      ),
    io: oneOf('addon', 'raw-socket')
      .default('addon')
      .describe('Library that sends and receives packets: the native addon, or the npm package raw-socket'),
    healthchecks: list(healthcheckSchema, 'a list of health checks')
      .default([])
      .describe('Checks of the service behind the addresses; the routers and groups that track a check set its weight'),
    virtualRouters: list(virtualRouterSchema, 'a list of virtual routers').describe(
      'One entry for each virtual router; with an empty list, the daemon waits for a reload',
    ),
    syncGroups: list(syncGroupSchema, 'a list of sync groups')
      .default([])
      .describe('Groups of virtual routers that move together'),
  },
  'a mapping with virtualRouters',
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

/**
 * Returns the JSON Schema 2020-12 of a configuration file, for editors, and for the known keys of schema-problem.ts.
 */
export const jsonSchema = () => z.toJSONSchema(configSchema, { io: 'input' })
