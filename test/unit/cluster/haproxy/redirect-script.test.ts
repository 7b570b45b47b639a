/** The nft commands of the redirect, and the table as nft lists it. The kernel has the last word in test/netns. */
import { describe, expect, test } from 'vitest'
import {
  confirmScript,
  installScript,
  type RedirectPlan,
  removeScript,
  tidyScript,
} from '../../../../src/cluster/decisions/haproxy/redirect-script.ts'
import { NO_TABLE, readRedirectTable } from '../../../../src/cluster/decisions/haproxy/redirect-table.ts'
import { redirectExists } from '../../../../src/cluster/decisions/status/load-balancer-rule.ts'
import { address } from '../../../../src/wire/address.ts'

const VIP = address('192.168.111.5')
const PLAN: RedirectPlan = { family: 'ip', vips: [VIP], apiPort: 6443, lbPort: 9445, lifetime: undefined }
const FAST = { ...PLAN, lifetime: 10 }

const chain = (name: string, hook: string, prio = -100) => ({
  chain: { family: 'ip', table: 'ocp_nat', name, type: 'nat', hook, prio },
})
const daddr = (right: string) => ({
  match: { op: '==', left: { payload: { protocol: 'ip', field: 'daddr' } }, right },
})
const dport = { match: { op: '==', left: { payload: { protocol: 'tcp', field: 'dport' } }, right: 6443 } }
const rule = (name: string, handle: number, { comment = 'OCP_API_LB_REDIRECT', set = false } = {}) => ({
  rule: {
    ...{ family: 'ip', table: 'ocp_nat', chain: name, handle, comment },
    expr: [daddr(VIP), ...(set ? [daddr('@ocp_api_confirmed')] : []), dport, { redirect: { port: 9445 } }],
  },
})
const set = (elements: readonly unknown[] | undefined) => ({
  set: { family: 'ip', name: 'ocp_api_confirmed', table: 'ocp_nat', ...(elements ? { elem: elements } : {}) },
})
const listing = (...items: readonly unknown[]) => JSON.stringify({ nftables: [{ metainfo: {} }, ...items] })
const CHAINS = [chain('ocp_prerouting', 'prerouting'), chain('ocp_output', 'output')]
const BOTH = [rule('ocp_prerouting', 4), rule('ocp_output', 5)]

describe('the redirect table', () => {
  test('has rules of a monitor by their comment, and all other content is of others', () => {
    const other = rule('ocp_output', 9, { comment: 'mine' })
    const table = readRedirectTable(listing(...CHAINS, ...BOTH, other, chain('my_chain', 'input'), set([])))
    expect(table).toEqual({
      exists: true,
      hasSet: true,
      unusable: [],
      others: ['rule 9 of chain ocp_output', 'chain my_chain'],
      rules: [
        { chain: 'ocp_prerouting', handle: 4 },
        { chain: 'ocp_output', handle: 5 },
      ],
    })
  })

  test('has an unusable chain if the chain has another priority', () => {
    const table = readRedirectTable(listing(chain('ocp_prerouting', 'prerouting', 0), CHAINS[1]))
    expect(table?.unusable).toEqual(['ocp_prerouting'])
  })

  test('is unknown if nft printed no list', () => {
    expect(readRedirectTable('nonsense')).toBeUndefined()
    expect(readRedirectTable('{}')).toBeUndefined()
  })
})

describe('the commands', () => {
  const found = readRedirectTable(listing(...CHAINS, ...BOTH)) ?? NO_TABLE

  test('replace old rules in the transaction that adds the new ones', () => {
    expect(installScript(PLAN, found).split('\n')).toEqual([
      'add table ip ocp_nat',
      'add chain ip ocp_nat ocp_prerouting { type nat hook prerouting priority -100; policy accept; }',
      'add chain ip ocp_nat ocp_output { type nat hook output priority -100; policy accept; }',
      'delete rule ip ocp_nat ocp_prerouting handle 4',
      'delete rule ip ocp_nat ocp_output handle 5',
      'insert rule ip ocp_nat ocp_prerouting ip daddr 192.168.111.5 tcp dport 6443 dnat to 192.168.111.5:9445 comment "OCP_API_LB_REDIRECT"',
      'insert rule ip ocp_nat ocp_output ip daddr 192.168.111.5 tcp dport 6443 oifname "lo" redirect to :9445 comment "OCP_API_LB_REDIRECT"',
    ])
  })

  test('with a lifetime, confirm the VIP for that time', () => {
    const commands = installScript(FAST, NO_TABLE).split('\n')
    expect(commands).toContain('add set ip ocp_nat ocp_api_confirmed { type ipv4_addr; flags timeout; }')
    expect(commands).toContain('add element ip ocp_nat ocp_api_confirmed { 192.168.111.5 timeout 10s }')
    expect(commands.filter((each) => each.startsWith('insert'))).toEqual([
      expect.stringContaining('ip daddr 192.168.111.5 ip daddr @ocp_api_confirmed tcp dport 6443 dnat'),
      expect.stringContaining('ip daddr 192.168.111.5 ip daddr @ocp_api_confirmed tcp dport 6443 oifname "lo"'),
    ])
    expect(confirmScript(FAST).split('\n')[0]).toBe('flush set ip ocp_nat ocp_api_confirmed')
    expect(confirmScript(PLAN)).toBe('')
  })

  test('write an IPv6 target in brackets', () => {
    const script = installScript({ ...PLAN, family: 'ip6', vips: [address('fd00::5')] }, NO_TABLE)
    expect(script).toContain('ip6 daddr fd00::5 tcp dport 6443 dnat to [fd00::5]:9445')
  })

  test('remove the rules of the monitor only, and the table only if nothing else is in it', () => {
    expect(removeScript('ip', found).split('\n')).toEqual([
      'delete rule ip ocp_nat ocp_prerouting handle 4',
      'delete rule ip ocp_nat ocp_output handle 5',
    ])
    expect(tidyScript('ip', found)).toContain('delete table ip ocp_nat')
    expect(tidyScript('ip', { ...found, others: ['chain my_chain'] })).toBe('')
    expect(tidyScript('ip', { ...found, unusable: ['ocp_output'] })).toBe('')
    expect(tidyScript('ip', NO_TABLE)).toBe('')
  })
})

describe('the sentinel', () => {
  const redirect = { vip: VIP, apiPort: 6443, lbPort: 9445 }
  const confirmed = [rule('ocp_prerouting', 4, { set: true }), rule('ocp_output', 5, { set: true })]

  test('sees rules with a set only while the set has the VIP', () => {
    const alive = [{ elem: { val: VIP, timeout: 10, expires: 7 } }]
    expect(redirectExists([listing(set(alive), ...CHAINS, ...confirmed)], redirect)).toBe(true)
    expect(redirectExists([listing(set(undefined), ...CHAINS, ...confirmed)], redirect)).toBe(false)
    expect(redirectExists([listing(...CHAINS, ...confirmed)], redirect)).toBe(false)
    const other = [{ elem: { val: '192.168.111.6', timeout: 10, expires: 7 } }]
    expect(redirectExists([listing(set(other), ...CHAINS, ...confirmed)], redirect)).toBe(false)
    expect(redirectExists([listing(...CHAINS, ...BOTH)], redirect)).toBe(true)
  })
})
