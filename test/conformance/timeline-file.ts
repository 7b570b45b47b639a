/**
 * Writes a timeline of statemachine-ext.json as its keepalived file, which is read as any other file. An instance
 * then has every setting of profile keepalived. Decides only how a vector is written down.
 */
import { type ResolvedRouter, resolveRouters } from '../../src/config/resolve.ts'
import { address } from '../../src/wire/address.ts'
import { read } from '../support/keepalived-text.ts'
import type { TimelineInstance, TimelineVector } from './statemachine-vectors.ts'

const seconds = (us: number): string => String(us / 1_000_000)
const line = (keyword: string, value: string | number | undefined): string =>
  value === undefined ? '' : `  ${keyword} ${value}\n`
const flag = (keyword: string, isSet: boolean | undefined): string => (isSet === true ? `  ${keyword}\n` : '')
const block = (keyword: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `  ${keyword} {\n${lines.map((each) => `    ${each}\n`).join('')}  }\n`

/** Returns a number of a key that the schema of the vectors does not name. */
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

function instanceText(told: TimelineInstance): string {
  const { garp, track } = told
  const tracks = (kind: string) =>
    track
      .filter((tracker) => tracker.kind === kind)
      .map(({ name, reverse, weight }) => {
        const direction = reverse === true ? ' reverse' : ''
        return weight === null ? name : `${name} weight ${weight}${direction}`
      })
  return [
    `vrrp_instance ${told.name} {\n  interface eth0\n`,
    line('state', told.initial_state),
    line('virtual_router_id', told.vrid),
    line('version', told.version),
    line('priority', told.priority),
    line('advert_int', told.advertisement_interval_cs / 100),
    flag('nopreempt', !told.preempt),
    line('preempt_delay', told.preempt_delay_us === undefined ? undefined : seconds(told.preempt_delay_us)),
    line('down_timer_adverts', numberOf(told.down_timer_adverts)),
    line('timer_expired_backup', numberOf(told.timer_expired_backup)),
    flag('lower_prio_no_advert', told.lower_prio_no_advert),
    flag('higher_prio_send_advert', told.higher_prio_send_advert),
    flag('check_unicast_src', told.check_unicast_src),
    line('garp_master_repeat', garp.repeat),
    line('garp_master_delay', seconds(garp.delay_us)),
    line('garp_master_refresh', garp.refresh_us === undefined ? undefined : seconds(garp.refresh_us)),
    line('garp_master_refresh_repeat', garp.refresh_repeat),
    line('garp_lower_prio_repeat', garp.lower_prio_repeat),
    line(
      'garp_lower_prio_delay',
      garp.lower_prio_delay_us === undefined ? undefined : seconds(garp.lower_prio_delay_us),
    ),
    block('unicast_peer', told.unicast_peers ?? []),
    block('virtual_ipaddress', told.addresses),
    block('track_script', tracks('script')),
    block('track_file', tracks('file')),
    block('track_interface', tracks('interface')),
    '}\n',
  ].join('')
}

export function fileOf({ config: { global = {}, groups, instances, trackers } }: TimelineVector): string {
  const globals = [
    ['vrrp_garp_interval', numberOf(global.garp_interval_us)],
    ['vrrp_startup_delay', numberOf(global.startup_delay_us)],
  ] as const
  return [
    `global_defs {\n${globals.map(([keyword, us]) => line(keyword, us === undefined ? undefined : seconds(us))).join('')}}\n`,
    ...Object.entries(trackers.scripts ?? {}).map(
      ([name, { rise, fall }]) => `vrrp_script ${name} {\n  script /bin/true\n  rise ${rise}\n  fall ${fall}\n}\n`,
    ),
    ...Object.keys(trackers.files ?? {}).map((name) => `track_file ${name} {\n  file /${name}\n}\n`),
    ...instances.map(instanceText),
    ...groups.map(
      ({ members, name, tracking_weight }) =>
        `vrrp_sync_group ${name} {\n${block('group', members)}${flag('sync_group_tracking_weight', tracking_weight)}}\n`,
    ),
  ].join('')
}

export type ReadTimeline = {
  readonly routers: ReadonlyMap<string, ResolvedRouter>
  /** Warnings of the reader about the file. */
  readonly warnings: readonly string[]
}

/** Reads the file on a node that has eth0 with the address of the vector. */
export function readTimeline(vector: TimelineVector): ReadTimeline {
  const parsed = read(fileOf(vector))
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems))
  const sources = new Set(vector.config.instances.map((each) => each.primary_address))
  const own = [...sources].map((source) => ({ address: address(source), prefixLength: 24 }))
  const node = { interfaces: [{ name: 'eth0', mtu: 1500, addresses: own }] }
  const { routers } = resolveRouters(parsed.config, node)
  return {
    routers: new Map(routers.map((router) => [router.name, router])),
    warnings: parsed.warnings.map(({ message }) => message),
  }
}
