/**
 * The alert rules of deploy/prometheus as promtool evaluates them, on three nodes scraped every 15 s. Every case
 * asserts the whole list of alerts that fire at a moment. By this list each case also shows that all other alerts do
 * not fire.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { AGENT_METRICS } from '../../../src/cluster/runtime/account-metrics.ts'
import { MONITOR_METRICS } from '../../../src/cluster/runtime/haproxy/monitor-account.ts'
import { OPERATOR_METRICS } from '../../../src/cluster/runtime/operator/operator-account.ts'
import { METRICS } from '../../../src/metrics/names.ts'
import { describePrometheus } from '../../support/require.ts'
import { ADDRESS, SCRAPE_S, ScrapedCluster, type Span } from '../../support/scraped-cluster.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const RULES = join(ROOT, 'deploy', 'prometheus', 'holdfast.rules.yml')

type Rule = {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
}
const groups: readonly { readonly rules: readonly Rule[] }[] = parse(readFileSync(RULES, 'utf8')).groups
const rules = groups.flatMap((group) => group.rules)
const alerts = rules.flatMap(({ alert }) => alert ?? [])

/** Alerts that fire at a number of minutes after the first scrape. */
type Firing = readonly (readonly [minute: number, ...alerts: string[]])[]
type Change = (cluster: ScrapedCluster) => unknown
type Case = readonly [name: string, minutes: number, firing: Firing, change: Change]
const given = (...one: Case): Case => one

const API = 'router="api"'
const discards = 'holdfast_vrrp_advertisements_discarded_total'
const moves = 'holdfast_vrrp_transitions_total'
const became = (from: string, reason: string) => `${API},from="${from}",to="Active",reason="${reason}"`
const since = 'holdfast_healthcheck_since_timestamp_seconds'
const results = 'holdfast_healthcheck_results_total'
const usable = 'holdfast_monitor_haproxy_usable'
const redirected = 'holdfast_monitor_redirect'
const watching = 'holdfast_agent_watch_state'
const operator = 'holdfast_operator_condition'
/** Time between two scrapes, in minutes. */
const S = SCRAPE_S / 60

const QUIET: readonly Case[] = [
  given('a good day', 70, [[0.25], [5], [15], [30], [65]], () => {}),
  given(
    'a clean failover, the new holder scraped first: two have it in what is known',
    20,
    [[10], [10 + S], [10 + 2 * S], [10 + 3 * S], [11], [15, 'HoldfastDown']],
    (all) =>
      all
        .dies('a', 10 + S, 'Active')
        .course('b', [10, 'Backup'], [10, 'Active'])
        .set('b', moves, became('Backup', 'activeSilent'), [10, 'gone'], [10, 1]),
  ),
  given(
    'a clean failover, the old holder missed first: nobody has it in what is known',
    20,
    [[10], [10 + S], [10 + 2 * S], [10 + 3 * S], [15, 'HoldfastDown']],
    (all) => all.dies('a', 10, 'Active').course('b', [10 + S, 'Backup'], [10 - S, 'Active']),
  ),
  given(
    'a rolling upgrade: every node is away for a minute, the best comes back',
    40,
    [[5], [5.5], [6], [7], [10.5], [15.5], [25], [39]],
    (all) =>
      all
        .course('a', [5, 'Active'], [0.75, 'gone'], [0.5, 'Backup'], [33.75, 'Active'])
        .course('b', [5, 'Backup'], [1.25, 'Active'], [3.75, 'Backup'], [0.75, 'gone'], [29.25, 'Backup'])
        .course('c', [15, 'Backup'], [0.75, 'gone'], [24.25, 'Backup'])
        .set('b', moves, became('Backup', 'activeReleased'), [5, 'gone'], [35, 1])
        .set('a', moves, became('Backup', 'lowerPriorityActive'), [6.25, 'gone'], [33.75, 1]),
  ),
  given(
    'a second Active for a moment, as a third node hears it in one scrape',
    20,
    [[10], [10.25], [10.75], [11], [19]],
    (all) => all.set('c', 'holdfast_vrrp_other_actives', API, [10, 0], [S, 1], [10 - S, 0]),
  ),
  given('a check that fails for half a minute on a Backup', 70, [[20.25], [20.5], [21], [69]], (all) =>
    all.set('b', 'holdfast_healthcheck_up', 'check="readyz"', [20, 1], [0.5, 0], [49.5, 1]),
  ),
  given('a check that fails on the holder, whose address moves', 20, [[10], [10.25], [10.5], [11], [19]], (all) =>
    all
      .checkFails('a', 10, 0.5)
      .course('a', [10 + S, 'Active'], [10 - S, 'Backup'])
      .course('b', [10 + S, 'Backup'], [10 - S, 'Active']),
  ),
  given('checks without a first result, on all nodes', 20, [[5], [19]], (all) => {
    for (const node of ['a', 'b', 'c'] as const)
      all
        .set(node, 'holdfast_healthcheck_up', 'check="readyz"', [20, 0])
        .set(node, 'holdfast_healthcheck_unknown', 'check="readyz"', [20, 1])
  }),
  given('a stray packet', 20, [[10], [12], [19]], (all) =>
    all.set('b', discards, 'interface="eth0",reason="checksum"', [10, 'gone'], [10, 1]),
  ),
  given('a Prometheus that is new to old nodes', 20, [[0], [1], [9], [15], [19]], (all) =>
    all
      .set('a', moves, became('Backup', 'activeSilent'), [20, 90])
      .set('a', discards, 'interface="eth0",reason="checksum"', [20, 4_000])
      .set('a', results, 'check="readyz",reason="timeout"', [20, 700])
      .set('a', 'holdfast_vrrp_foreign_changes_total', `${API},kind="removed"`, [20, 12]),
  ),
  given('a VIP that a reload takes away', 20, [[10.5], [12], [18]], (all) => {
    for (const node of ['a', 'b', 'c'] as const) {
      all.course(node, [10, node === 'a' ? 'Active' : 'Backup'], [10, 'gone']).set(node, 'up', '', [20, 1])
    }
  }),
  given('clocks that differ by as much as a shared answer is old', 20, [[10], [19]], (all) =>
    all.set('c', 'holdfast_time_seconds', '', [20, -3, SCRAPE_S]),
  ),
  given(
    'agents that start, list again now and then, and one whose watch lasts for hours',
    60,
    [[1], [24], [31], [59]],
    (all) => {
      const lists: readonly Span[] = [10, 0.25, 14, 0.25, 14].map((minutes, i) => [minutes, (i + 1) % 2])
      all
        .set('a', watching, 'state="watching"', [0.5, 0], [59.5, 1])
        .set('b', watching, 'state="watching"', ...lists, [21.5, 1])
        .set('b', 'holdfast_agent_last_list_age_seconds', '', [60, 0, 15])
        .set('b', 'holdfast_agent_engine_refuses', '', [30, 0], [S, 1], [30 - S, 0])
    },
  ),
  given(
    'an HAProxy that is restarted, and one whose configuration is refused once',
    30,
    [[10.5], [11], [20.5], [29]],
    (all) =>
      all
        .set('a', usable, '', [10, 1], [0.5, 0], [19.5, 1])
        .set('a', redirected, 'family="ip"', [10, 1], [0.75, 0], [19.25, 1])
        .set('a', 'holdfast_monitor_haproxy_losses_total', '', [10, 0], [20, 1])
        .set('b', 'holdfast_monitor_configuration_refused', '', [20, 0], [0.5, 1], [9.5, 0]),
  ),
]

const LOUD: readonly Case[] = [
  given(
    'nobody can have it: all are in fault',
    20,
    [
      [10],
      [10.25],
      [10.5, 'HoldfastNoHolder'],
      [11.25, 'HoldfastFault', 'HoldfastNoHolder'],
      [15.25, 'HoldfastFault', 'HoldfastNoHolder', 'HoldfastNoRedundancy'],
    ],
    (all) => {
      for (const node of ['a', 'b', 'c'] as const)
        all.course(node, [10, node === 'a' ? 'Active' : 'Backup'], [10, 'Initialize'])
    },
  ),
  given(
    'nobody answers any more: what was known counts',
    20,
    [[10], [10.5, 'HoldfastNoHolder'], [19, 'HoldfastDown', 'HoldfastNoHolder']],
    (all) => all.dies('a', 10, 'Active').dies('b', 10, 'Backup').dies('c', 10, 'Backup'),
  ),
  given('an Active without its address', 20, [[10], [10.75, 'HoldfastNoHolder'], [19, 'HoldfastNoHolder']], (all) =>
    all.set('a', 'holdfast_vrrp_address_present', `${API},address="${ADDRESS}"`, [10, 1], [10, 0]),
  ),
  given(
    'the holder is out of sight, the others follow it',
    20,
    [[10.5], [11.25, 'HoldfastDown', 'HoldfastHolderNotSeen'], [19, 'HoldfastDown', 'HoldfastHolderNotSeen']],
    (all) => all.dies('a', 10, 'Active'),
  ),
  given(
    'a split brain',
    20,
    [[10], [10.5], [10.75, 'HoldfastTwoHolders'], [14.75, 'HoldfastTwoHolders'], [15]],
    (all) => all.course('b', [10, 'Backup'], [5, 'Active'], [5, 'Backup']),
  ),
  given(
    'a split brain, and scrapes that fail in it',
    20,
    [[10.5], [10.75, 'HoldfastTwoHolders'], [11.25, 'HoldfastTwoHolders'], [19, 'HoldfastTwoHolders']],
    (all) =>
      all.course(
        'b',
        [10, 'Backup'],
        [2 * S, 'Active'],
        [S, 'gone'],
        [2 * S, 'Active'],
        [S, 'gone'],
        [10 - 6 * S, 'Active'],
      ),
  ),
  given(
    'two Actives that a third node hears, one of which is not scraped',
    20,
    [[10], [10.5], [10.75, 'HoldfastTwoActives'], [14.75, 'HoldfastTwoActives'], [15]],
    (all) => all.set('c', 'holdfast_vrrp_other_actives', API, [10, 0], [5, 1], [5, 0]),
  ),
  given(
    'two Actives that a third node hears, both scraped: one alert',
    20,
    [[10], [10.75, 'HoldfastTwoHolders'], [19, 'HoldfastTwoHolders']],
    (all) =>
      all.set('c', 'holdfast_vrrp_other_actives', API, [10, 0], [10, 1]).course('b', [10, 'Backup'], [10, 'Active']),
  ),
  given(
    'another host answers, between two scrapes',
    20,
    [[9.75], [10, 'HoldfastDuplicateAddress'], [14, 'HoldfastDuplicateAddress'], [15.25]],
    (all) => all.set('a', 'holdfast_vrrp_competing_answers_total', API, [10, 0], [10, 3]),
  ),
  given(
    'another host goes on answering',
    20,
    [[9.75], [10, 'HoldfastDuplicateAddress'], [19, 'HoldfastDuplicateAddress']],
    (all) => all.set('a', 'holdfast_vrrp_duplicate_holder', `${API},address="${ADDRESS}"`, [10, 0], [10, 1]),
  ),
  given(
    'only the holder is left',
    30,
    [[10], [12, 'HoldfastDown', 'HoldfastFault'], [15.25, 'HoldfastDown', 'HoldfastFault', 'HoldfastNoRedundancy']],
    (all) => all.dies('b', 10, 'Backup').course('c', [10, 'Backup'], [20, 'Initialize']),
  ),
  given(
    'it moves to and fro, by counters that begin with it',
    30,
    [[10], [11], [12.5, 'HoldfastFlapping'], [18, 'HoldfastFlapping'], [23]],
    (all) =>
      all
        .set('a', moves, became('Backup', 'lowerPriorityActive'), [10, 'gone'], [1, 1], [1, 2], [18, 3])
        .set('b', moves, became('Backup', 'activeSilent'), [10, 'gone'], [1, 1], [1, 2], [18, 3]),
  ),
  given('a fault', 20, [[10.75], [11, 'HoldfastFault']], (all) => all.course('c', [10, 'Backup'], [10, 'Initialize'])),
  given(
    'the Active is nearly too late',
    40,
    [[9.75], [10, 'HoldfastNearMiss'], [24, 'HoldfastNearMiss'], [26]],
    (all) =>
      all.set('b', 'holdfast_vrrp_advertisement_gap_ratio_bucket', `${API},le="2.5"`, [10, 0, 15], [30, 599, 15]),
  ),
  given(
    'somebody has another password',
    30,
    [[10], [10.5, 'HoldfastAdvertisementsRejected'], [29, 'HoldfastAdvertisementsRejected']],
    (all) => all.set('b', discards, 'interface="eth0",reason="auth-data"', [10, 'gone'], [20, 1, 15]),
  ),
  given(
    'somebody removes an address, between two scrapes',
    40,
    [[15.75], [16, 'HoldfastForeignRemoval'], [30, 'HoldfastForeignRemoval'], [32]],
    (all) => all.set('a', 'holdfast_vrrp_foreign_changes_total', `${API},kind="removed"`, [16, 'gone'], [24, 1]),
  ),
  given('somebody removes an address again and again', 20, [[9.75], [10, 'HoldfastForeignRemoval']], (all) =>
    all.set('a', 'holdfast_vrrp_restorations_paused', API, [10, 0], [10, 1]),
  ),
  given('a neighbour has another list of addresses', 20, [[14.75], [15, 'HoldfastConfigurationDiffers']], (all) =>
    all.set('b', 'holdfast_vrrp_mismatched_routers', `${API},reason="address-list-mismatch"`, [10, 'gone'], [10, 1]),
  ),
  given('a node has an address less', 20, [[4.75], [5, 'HoldfastConfigurationDiffers']], (all) => {
    const other = `${API},address="10.0.0.201"`
    all.set('a', 'holdfast_vrrp_address_present', other, [20, 1])
    all.set('b', 'holdfast_vrrp_address_present', other, [20, 0])
  }),
  given('a node has another interval', 20, [[14.75], [15, 'HoldfastConfigurationDiffers']], (all) =>
    all.set('c', 'holdfast_vrrp_advertisement_interval_seconds', API, [10, 1], [10, 0.5]),
  ),
  given('a node gives the name to another VRID', 20, [[4.75], [5, 'HoldfastConfigurationDiffers']], (all) =>
    all.set('c', 'holdfast_vrrp_state', `${API},vrid="52",interface="eth0",state="Backup"`, [20, 0]),
  ),
  given('a node is gone', 20, [[10.75], [11, 'HoldfastDown']], (all) => all.dies('c', 10, 'Backup')),
  given('a daemon without a guardian', 20, [[10.75], [11, 'HoldfastUnguarded']], (all) =>
    all.set('c', 'holdfast_cleanup_plan_armed', '', [10, 1], [10, 0]),
  ),
  given(
    'an engine that was frozen between two scrapes',
    40,
    [[9.75], [10, 'HoldfastCleanupPlanExecuted'], [24, 'HoldfastCleanupPlanExecuted'], [26]],
    (all) => all.set('a', 'holdfast_vrrp_cleanup_plans_executed_total', API, [10, 0], [30, 1]),
  ),
  given(
    'timers late by half a second',
    30,
    [[9.75], [10, 'HoldfastTimerLate'], [19, 'HoldfastTimerLate'], [21]],
    (all) => all.set('a', 'holdfast_engine_timer_lateness_seconds_bucket', 'le="0.5"', [10, 0, 150], [20, 5_997, 150]),
  ),
  given('timers late by half a second once, and once more', 40, [[10], [13], [14], [17], [21], [30]], (all) =>
    all.set(
      'a',
      'holdfast_engine_timer_lateness_seconds_bucket',
      'le="0.5"',
      [10, 0, 150],
      [4, 5_999, 150],
      [26, 8_398, 150],
    ),
  ),
  given(
    'timers late by a twentieth, which only a short interval minds',
    30,
    [[9.75], [10.25, 'HoldfastTimerLate'], [14, 'HoldfastTimerLate'], [21]],
    (all) => {
      for (const node of ['a', 'b'] as const)
        all.set(node, 'holdfast_engine_timer_lateness_seconds_bucket', 'le="0.05"', [10, 0, 150], [20, 5_997, 150])
      all.set('b', 'holdfast_vrrp_advertisement_interval_seconds', API, [30, 1])
      for (const node of ['a', 'b', 'c'] as const)
        all.set(node, 'holdfast_vrrp_advertisement_interval_seconds', API, [10, 1], [20, 0.1])
    },
  ),
  given(
    'one check that is down for a while, once, on a Backup',
    70,
    [[20.75], [21, 'HoldfastCheckDown'], [29.75, 'HoldfastCheckDown'], [30], [69]],
    (all) => all.checkFails('b', 20, 10),
  ),
  given(
    'the service is down on all nodes, and the address stays where it is',
    20,
    [
      [10],
      [10.25],
      [10.5, 'HoldfastHolderUnhealthy'],
      [11, 'HoldfastCheckDown', 'HoldfastHolderUnhealthy'],
      [14.75, 'HoldfastCheckDown', 'HoldfastHolderUnhealthy'],
      [15],
    ],
    (all) => all.checkFails('a', 10, 5).checkFails('b', 10, 5).checkFails('c', 10, 5),
  ),
  given(
    'the service is down where the address is, and the weight does not move it',
    20,
    [[10.25], [10.5, 'HoldfastHolderUnhealthy'], [11, 'HoldfastCheckDown', 'HoldfastHolderUnhealthy'], [15]],
    (all) => all.checkFails('a', 10, 5),
  ),
  given(
    'a check that no router of the holder tracks is down there',
    20,
    [[10.75], [11, 'HoldfastCheckDown'], [19, 'HoldfastCheckDown']],
    (all) =>
      all
        .set('a', 'holdfast_healthcheck_up', 'check="disk"', [10, 1], [10, 0])
        .set('a', 'holdfast_healthcheck_unknown', 'check="disk"', [20, 0])
        .set('a', results, 'check="disk",reason="ok"', [10, 0, 15], [10, 600]),
  ),
  given(
    'a combination of checks is down: its failed member is named, and the holder of the address',
    20,
    [[10.25], [10.5, 'HoldfastHolderUnhealthy'], [11, 'HoldfastCheckDown', 'HoldfastHolderUnhealthy']],
    (all) =>
      all
        .checkFails('a', 10, 10)
        .set('a', 'holdfast_healthcheck_adds', 'check="readyz",router="api"', [20, 'gone'])
        .set('a', 'holdfast_healthcheck_up', 'check="all"', [10, 1], [10, 0])
        .set('a', 'holdfast_healthcheck_unknown', 'check="all"', [20, 0])
        .set('a', 'holdfast_healthcheck_adds', 'check="all",router="api"', [10, 0], [10, -60]),
  ),
  given(
    'a check that goes down and up again and again',
    70,
    [[22.75], [23, 'HoldfastCheckFlaky'], [60, 'HoldfastCheckFlaky']],
    (all) => all.set('b', since, 'check="readyz"', [20, 1_000], [1, 2_200], [1, 2_260], [1, 2_320], [47, 2_380]),
  ),
  given(
    'a check that fails now and then, never for long',
    130,
    [[72], [73, 'HoldfastCheckFlaky'], [120, 'HoldfastCheckFlaky']],
    (all) =>
      all.set('b', results, 'check="readyz",reason="timeout"', [65, 'gone'], [2, 1], [2, 2], [2, 3], [2, 4], [57, 5]),
  ),
  given('a clock that is off', 20, [[14.75], [15, 'HoldfastClockSkew']], (all) =>
    all.set('c', 'holdfast_time_seconds', '', [10, 0, SCRAPE_S], [10, 607, SCRAPE_S]),
  ),
  given('a reload that failed', 20, [[9.75], [10, 'HoldfastReloadFailed']], (all) =>
    all.set('c', 'holdfast_config_reload_success', '', [10, 1], [10, 0]),
  ),
  given(
    'a journal on a disk that is full, until there is room again',
    20,
    [[10.75], [11, 'HoldfastJournalFailing'], [14.75, 'HoldfastJournalFailing'], [15]],
    (all) => all.set('c', 'holdfast_journal_failing', '', [10, 0], [5, 1], [5, 0]),
  ),
  given(
    'what was handed over is not written down',
    20,
    [[10.75], [11, 'HoldfastConfigurationNotKept'], [14.75, 'HoldfastConfigurationNotKept'], [15]],
    (all) => all.set('b', 'holdfast_config_kept', '', [10, 1], [5, 0], [5, 1]),
  ),
  given(
    'an agent does not hear of the cluster',
    40,
    [[10], [24.75], [25, 'HoldfastAgentBlind'], [29.75, 'HoldfastAgentBlind'], [30]],
    (all) => all.set('b', watching, 'state="watching"', [10, 1], [20, 0], [10, 1]),
  ),
  given(
    'an engine refuses what its agent hands over, until it takes something',
    20,
    [[10.75], [11, 'HoldfastAgentRefused'], [14.75, 'HoldfastAgentRefused'], [15]],
    (all) => all.set('b', 'holdfast_agent_engine_refuses', '', [10, 0], [5, 1], [5, 0]),
  ),
  given(
    'the operator reports that a VIP has two holders, then that the API is not available',
    40,
    [
      [14.75],
      [15, 'HoldfastOperatorDegraded'],
      [20.75, 'HoldfastOperatorDegraded'],
      [21, 'HoldfastOperatorDegraded', 'HoldfastOperatorUnavailable'],
      [30],
    ],
    (all) =>
      all
        .set('a', operator, 'type="Degraded"', [10, 0], [20, 1], [10, 0])
        .set('a', operator, 'type="Available"', [20, 1], [10, 0], [10, 1]),
  ),
  given(
    'no operator holds the Lease; one of two is enough',
    40,
    [[14.75], [15, 'HoldfastOperatorIdle'], [29.75, 'HoldfastOperatorIdle'], [30]],
    (all) =>
      all
        .set('a', 'holdfast_operator_leading', '', [10, 1], [30, 0])
        .set('b', 'holdfast_operator_leading', '', [30, 0], [10, 1]),
  ),
  given('an HAProxy that stays away', 20, [[10.75], [11, 'HoldfastHaproxyUnusable'], [15]], (all) =>
    all.set('a', usable, '', [10, 1], [5, 0], [5, 1]).set('a', redirected, 'family="ip"', [10, 1], [5, 0], [5, 1]),
  ),
  given('an HAProxy that dies three times in 15 minutes', 40, [[12], [14.25, 'HoldfastHaproxyUnstable'], [33]], (all) =>
    all.set('a', 'holdfast_monitor_haproxy_losses_total', '', [10, 0], [2, 1], [2, 2], [26, 3]),
  ),
  given('a haproxy.cfg that HAProxy refuses', 20, [[10.75], [11, 'HoldfastHaproxyFileRefused'], [15]], (all) =>
    all.set('a', 'holdfast_monitor_configuration_refused', '', [10, 0], [5, 1], [5, 0]),
  ),
  given('rules of IPv6 that cannot be installed', 20, [[10.75], [11, 'HoldfastRedirectMissing'], [15]], (all) =>
    all
      .set('a', usable, '', [20, 1])
      .set('a', redirected, 'family="ip"', [20, 1])
      .set('a', redirected, 'family="ip6"', [10, 1], [5, 0], [5, 1]),
  ),
]

const EXPRESSION = 'group by (alertname) (ALERTS{alertstate="firing"})'

describePrometheus('the alert rules', () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hf-alerts-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** Returns the errors that promtool reports; empty if it reports none. */
  function objections(name: string, minutes: number, cluster: ScrapedCluster, firing: Firing): string {
    const file = join(folder, `${name.replaceAll(/\W+/g, '-')}.json`)
    const promql_expr_test = firing.map(([minute, ...names]) => ({
      expr: EXPRESSION,
      eval_time: `${Math.round(minute * 60)}s`,
      exp_samples: names.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
    }))
    const one = { name, interval: `${SCRAPE_S}s`, input_series: cluster.inputSeries, promql_expr_test }
    writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: `${SCRAPE_S}s`, tests: [one] }))
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
    return status === 0 ? '' : `${minutes} min: ${stdout}${stderr}`
  }

  test('promtool takes them', () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' })
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')])
  })

  test.each([...QUIET, ...LOUD])('%s', (name, minutes, firing, change) => {
    const cluster = new ScrapedCluster(minutes)
    change(cluster)
    expect(objections(name, minutes, cluster, firing)).toBe('')
  })
})

describe('the alert rules', () => {
  test('each fires in a case', () => {
    const fired = new Set(LOUD.flatMap(([, , firing]) => firing.flatMap(([, ...names]) => names)))
    expect([...fired].sort()).toEqual([...alerts].sort())
  })

  test('each says what is wrong, how bad it is, and where to read on', () => {
    const document = readFileSync(join(ROOT, 'docs', 'alerts.md'), 'utf8')
    for (const { alert, annotations, labels } of rules) {
      if (alert === undefined) continue
      expect(labels?.severity, alert).toMatch(/^(critical|warning)$/)
      expect(Object.keys(annotations ?? {}).sort(), alert).toEqual(['description', 'runbook', 'summary'])
      expect(annotations?.runbook, alert).toBe(`docs/alerts.md#${alert.toLowerCase()}`)
      expect(document, alert).toContain(`\n## ${alert}\n`)
    }
  })

  test('they ask for metrics that there are', () => {
    const known = new Set<string>([
      ...Object.keys(METRICS),
      ...Object.keys(AGENT_METRICS),
      ...Object.keys(OPERATOR_METRICS),
      ...Object.keys(MONITOR_METRICS),
    ])
    const asked = rules.flatMap(({ expr }) => expr.match(/\bholdfast_\w+/g) ?? [])
    expect(asked.filter((name) => !known.has(name) && !known.has(name.replace(/_(count|bucket|sum)$/, '')))).toEqual([])
  })
})
