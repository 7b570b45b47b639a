/**
 * The file that exists while nftables redirects the API's address to the load balancer, with real rules. The cases: both rules, one rule,
 * another port or address, no table, no nft program.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openRedirectFile } from '../../src/cluster/runtime/redirect-file.ts'
import { makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { inside } from '../../src/lab/ip.ts'
import { address } from '../../src/wire/address.ts'
import { describeNetns } from '../support/require.ts'

const REDIRECT = { vip: address('192.168.111.5'), apiPort: 6443, lbPort: 9445 }
const REDIRECT6 = { ...REDIRECT, vip: address('fd2e:6f44:5dd8:c956::5') }

describeNetns('the file about the redirect to the load balancer', () => {
  let namespace = ''
  let folder = ''
  const told: string[] = []
  const file = () => join(folder, 'rule-exists')
  const nft = (text: string) => inside(namespace, ['nft', text])
  const look = (redirect = REDIRECT, command: readonly string[] = ['ip', 'netns', 'exec', namespace, 'nft']) =>
    openRedirectFile({ redirect, file: file(), nft: command, tell: (message) => told.push(message) })
  const flush = () => nft('flush ruleset')

  /** Adds the rules as the monitor of HAProxy adds them. */
  function lay(
    family: 'ip' | 'ip6',
    { vip, apiPort, lbPort }: typeof REDIRECT,
    chains = ['prerouting', 'output'],
  ): void {
    nft(`add table ${family} ocp_nat`)
    const comment = 'comment "OCP_API_LB_REDIRECT"'
    const target = family === 'ip' ? `${vip}:${lbPort}` : `[${vip}]:${lbPort}`
    for (const hook of chains) {
      nft(`add chain ${family} ocp_nat ocp_${hook} { type nat hook ${hook} priority -100; }`)
      const which = `${hook === 'output' ? 'oifname lo ' : ''}${family} daddr ${vip} tcp dport ${apiPort}`
      const to = hook === 'output' ? `redirect to :${lbPort}` : `dnat to ${target}`
      nft(`add rule ${family} ocp_nat ocp_${hook} ${which} counter ${to} ${comment}`)
    }
  }

  beforeAll(() => {
    namespace = makeNamespace()
    folder = mkdtempSync(join(tmpdir(), 'hf-sentinel-'))
  })
  afterAll(() => {
    removeAll()
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach(() => {
    flush()
    told.length = 0
    rmSync(file(), { force: true })
  })

  test('the file exists only while both rules are loaded', async () => {
    const sentinel = look()
    expect(await sentinel()).toBe(false)
    expect(existsSync(file())).toBe(false)
    lay('ip', REDIRECT)
    expect(await sentinel()).toBe(true)
    expect(existsSync(file())).toBe(true)
    expect(await sentinel()).toBe(true)
    nft('flush chain ip ocp_nat ocp_output')
    expect(await sentinel()).toBe(false)
    expect(existsSync(file())).toBe(false)
    flush()
    expect(await sentinel()).toBe(false)
    expect(told).toEqual([])
  })

  test('the rules of IPv6 are read from the table of IPv6', async () => {
    lay('ip6', REDIRECT6)
    expect(await look(REDIRECT6)()).toBe(true)
    expect(await look()()).toBe(false)
  })

  test.each<readonly [string, Partial<typeof REDIRECT>]>([
    ['another address', { vip: address('192.168.111.6') }],
    ['another port of the API', { apiPort: 6444 }],
    ['another port of the load balancer', { lbPort: 9446 }],
  ])('%s is another rule', async (_, other) => {
    lay('ip', { ...REDIRECT, ...other })
    expect(await look()()).toBe(false)
    expect(await look({ ...REDIRECT, ...other })()).toBe(true)
  })

  test('if nft fails, the file stays as it was, and the failure is logged once', async () => {
    lay('ip', REDIRECT)
    expect(await look()()).toBe(true)
    const blind = look(REDIRECT, ['/bin/sh', '-c', 'echo Operation not permitted >&2; exit 1'])
    expect(await blind()).toBeUndefined()
    expect(await blind()).toBeUndefined()
    expect(existsSync(file())).toBe(true)
    expect(told).toEqual([expect.stringContaining('Operation not permitted')])
    expect(await look(REDIRECT, ['/nowhere/nft'])()).toBeUndefined()
    expect(await look(REDIRECT, ['/bin/echo'])()).toBeUndefined()
    expect(existsSync(file())).toBe(true)
  })
})
