/**
 * What can be configured: one zod schema is the types, the defaults, the bounds, the words of the problems and the
 * JSON Schema that `holdfast schema` prints. Defaults that depend on the profile stay undefined here and are filled in
 * by resolve.ts. This file does not know YAML, positions, or what one value means for another (cross-check.ts).
 */
import * as z from 'zod'
import type { Knobs } from '../vrrp/parameters.ts'
import { duration, flag, host, listenAddress, networkAddress, oneOf, pattern, whole } from './field.ts'

const SECOND = 1000
const HOUR = 3_600_000
export const DEFAULT_RUN_DIRECTORY = '/run/holdfast'

const routerName = () =>
  pattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'a name of letters, digits, ".", "_" and "-" wanted')
// Linux: 15 octets, no slash, no white space, neither "." nor "..".
const interfaceName = () =>
  pattern(/^(?!\.{1,2}$)[^\s/:]{1,15}$/, 'the name of an interface wanted, up to 15 characters')
const absolutePath = () => pattern(/^\/[^\0]*$/, 'an absolute path wanted')

function section<T extends z.core.$ZodLooseShape>(shape: T, wanted: string) {
  // Unknown keys get their words from the schema itself (schema-problem.ts).
  return z.strictObject(shape, { error: (issue) => (issue.code === 'invalid_type' ? wanted : undefined) })
}

const list = <T extends z.ZodType>(element: T, wanted: string) => z.array(element, { error: wanted })

const peer = () =>
  z
    .union(
      [
        host().transform((address) => ({ address, priority: undefined })),
        section(
          {
            address: host().describe('Address of the peer on the LAN'),
            priority: whole(1, 255).optional().describe('Its base priority, which makes the stagger exact'),
          },
          'a mapping with address and priority wanted',
        ),
      ],
      { error: 'an address or { address, priority } wanted' },
    )
    .transform(({ address, priority }) => ({ address, priority }))

const peers = () => list(peer(), 'a list of peers wanted')

const transport = () =>
  z.union(
    [
      z.literal('multicast'),
      section(
        {
          unicast: section(
            {
              source: z
                .union([z.literal('auto'), host()], { error: 'auto or an IPv4 address wanted' })
                .default('auto')
                .describe('Source of our advertisements; auto: the address of the interface in the network of the VIP'),
              peers: peers().describe('The other routers; the address of this node may be among them and is skipped'),
            },
            'a mapping with peers wanted',
          ).describe('Advertise to each peer instead of to the group 224.0.0.18'),
        },
        'a mapping with unicast wanted',
      ),
    ],
    { error: 'multicast or { unicast: { peers: [...] } } wanted' },
  )

const profileDefault = 'default: by profile'

/** design.md §3: everything on which the RFC, its neighbours and safety disagree. Undefined = as the profile says. */
const knobs = {
  checksum: oneOf('pseudo-header', 'message-only')
    .optional()
    .describe(`IPv4 checksum that we send (RFC 9568 §5.2.8), ${profileDefault}`),
  checksumAccepted: oneOf('either', 'pseudo-header', 'message-only')
    .optional()
    .describe(`IPv4 checksum forms that we accept, ${profileDefault}`),
  fastPreempt: flag()
    .optional()
    .describe(`A better Backup acts on a demotion of the Active after Skew_Time, ${profileDefault}`),
  lastAdvertisement: flag()
    .optional()
    .describe(`An Active that loses sends one last advertisement when its addresses are off, ${profileDefault}`),
  announceOnRival: flag().optional().describe(`Announce the addresses again when a rival is heard, ${profileDefault}`),
  probeRivals: flag()
    .optional()
    .describe(`An Active asks by ARP before every advertisement whether somebody else answers, ${profileDefault}`),
  stagger: flag().optional().describe(`Backups of equal priority expire one after the other, ${profileDefault}`),
  leaving: flag().optional().describe(`On shutdown keep the addresses until the successor is heard, ${profileDefault}`),
  onlyListedPeers: flag()
    .optional()
    .describe(`Refuse unicast advertisements of routers not in peers, ${profileDefault}`),
  ttlCheck: flag().optional().describe(`Require TTL 255 in unicast too; multicast always does, ${profileDefault}`),
  firstAddressLinkLocal: flag()
    .optional()
    .describe(`IPv6: the first address of an advertisement must be link-local, ${profileDefault}`),
  addressListCheck: flag()
    .optional()
    .describe(
      `Discard advertisements with another address list than ours, except of an owner (255), ${profileDefault}`,
    ),
  assertOnLower: flag()
    .optional()
    .describe(`An Active answers a lower-priority advertisement at once (RFC 9568 §6.4.3), ${profileDefault}`),
  assertSpacing: duration(0, 10 * SECOND)
    .optional()
    .describe(`Least time between two such answers to the same router, ${profileDefault}`),
  priorityZeroFromActiveOnly: flag()
    .optional()
    .describe(`Priority 0 counts only from the Active last accepted, ${profileDefault}`),
  advertisePriorityChange: flag()
    .optional()
    .describe(`An Active advertises a change of its effective priority at once, ${profileDefault}`),
} satisfies Record<keyof Knobs, z.ZodType>

const track = () =>
  section(
    {
      interface: interfaceName().describe('Up means administratively up and with carrier'),
      weight: whole(-253, 253)
        .default(0)
        .describe('Added while up (positive) or while down (negative); 0 = the router is in fault while it is down'),
    },
    'a mapping with interface and weight wanted',
  )

const risesFromZero = (values: readonly number[]) =>
  values[0] === 0 && values.every((value, i) => i === 0 || value > (values[i - 1] ?? 0))
const AT_WANTED = '1 to 20 durations wanted that start with 0ms and rise'

const announce = () =>
  section(
    {
      at: list(duration(0, HOUR), AT_WANTED)
        .refine((values) => values.length <= 20 && risesFromZero(values), { error: AT_WANTED })
        .optional()
        .describe('When gratuitous ARP is sent after a takeover, default [0ms, 20ms, 100ms, 500ms, 2s, 5s]'),
      refresh: z
        .union([z.literal(false), duration(SECOND, 24 * HOUR)], { error: 'a duration from 1s to 24h or false wanted' })
        .optional()
        .describe('How often an Active repeats it, false = never, default 60s'),
    },
    'a mapping with at and refresh wanted',
  )

export const virtualRouterSchema = section(
  {
    name: routerName().describe('Unique; names the router in logs, metrics and commands'),
    vrid: whole(1, 255).describe('VRID (RFC 9568 §5.2.3), unique on its interface'),
    interface: interfaceName().describe('Name, or auto: the interface whose network holds the first address'),
    addresses: list(networkAddress(), 'a list of addresses wanted')
      .min(1, { error: 'at least one address wanted' })
      .max(255, { error: 'at most 255 addresses wanted, because the packet counts them in one octet' })
      .describe('The VIPs (IPvX_Address), installed as /32; a prefix only selects the network for interface: auto'),
    version: z
      .literal(3, {
        error: ({ input }) => (input === 2 ? 'VRRPv2 is not supported by this version of holdfast' : '3 wanted'),
      })
      .default(3)
      .describe('VRRP version'),
    priority: whole(1, 255).default(100).describe('Priority; 255 = this node owns the addresses'),
    advertisementInterval: duration(10, 40_950, 10)
      .prefault('1s')
      .describe('Advertisement_Interval, 10ms to 40.95s in whole centiseconds'),
    preempt: flag().default(true).describe('Preempt_Mode'),
    preemptDelay: duration(0, 1000 * SECOND)
      .prefault('0s')
      .describe('Follow a lower-priority Active this long before preempting it'),
    minHold: duration(0, HOUR).prefault('10s').describe('No fastPreempt within this time of the last change of owner'),
    transport: transport().default('multicast').describe('multicast, or { unicast: { source, peers } }'),
    peers: peers().optional().describe('With multicast: the other routers, a hint for the stagger'),
    track: list(track(), 'a list of trackers wanted').default([]).describe('What else must work, and what it weighs'),
    announce: announce().prefault({}).describe('Schedule of the gratuitous ARP'),
    profile: oneOf('holdfast', 'keepalived', 'rfc9568').default('holdfast').describe('Defaults of the options below'),
    ...knobs,
  },
  'a mapping with name, vrid, interface and addresses wanted',
)

export const configSchema = section(
  {
    version: z.literal(1, { error: '1 wanted' }).default(1).describe('Version of this file format'),
    runDirectory: absolutePath()
      .default(DEFAULT_RUN_DIRECTORY)
      .describe('Where the journal of installed addresses and the control socket live'),
    api: section(
      {
        socket: absolutePath().optional().describe('Control and status, mode 0600, default RUNDIRECTORY/holdfast.sock'),
        listen: z
          .union([z.literal(false), listenAddress()], {
            error: 'an IP address and a port wanted, written like 127.0.0.1:9655, or false',
          })
          .prefault('127.0.0.1:9655')
          .describe('Read-only HTTP: /metrics and the like; false = off'),
        public: flag().default(false).describe('Allows listen to be another address than loopback'),
      },
      'a mapping with socket, listen and public wanted',
    )
      .prefault({})
      .describe('How status and metrics are reached'),
    log: section(
      { level: oneOf('trace', 'debug', 'info', 'warn', 'error').default('info').describe('The least level written') },
      'a mapping with level wanted',
    )
      .prefault({})
      .describe('Structured log on standard output'),
    virtualRouters: list(virtualRouterSchema, 'a list of virtual routers wanted')
      .min(1, { error: 'at least one virtual router wanted' })
      .describe('One entry per virtual router'),
  },
  'a mapping with virtualRouters wanted',
).transform((config) => ({
  ...config,
  api: { ...config.api, socket: config.api.socket ?? `${config.runDirectory.replace(/\/+$/, '')}/holdfast.sock` },
}))

export type Config = z.output<typeof configSchema>
export type VirtualRouter = z.output<typeof virtualRouterSchema>
export type Track = VirtualRouter['track'][number]

/** What a file may contain, as JSON Schema 2020-12: for editors, and for the known keys of schema-problem.ts. */
export const jsonSchema = () => z.toJSONSchema(configSchema, { io: 'input' })
