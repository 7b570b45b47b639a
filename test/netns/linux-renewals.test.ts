/** Real rtnetlink: which reports of an address reach the engine, and which the kernel drops. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AddressStep, NetworkEvent } from '../../src/daemon/ports.ts'
import { cable, makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { ip } from '../../src/lab/ip.ts'
import { address } from '../../src/wire/address.ts'
import { describeNetns } from '../support/require.ts'
import { Agent, until } from './linux-fixture.ts'

const step = (text: string, prefixLength: number) => ({ interfaceIndex: 7, address: address(text), prefixLength })
const add = (text: string, prefixLength: number): AddressStep => ({
  ...{ action: 'add', ...step(text, prefixLength), lifetime: 60 },
})

describeNetns('reports of an address', () => {
  describe.each([
    ['IPv4', '198.51.100.200', 32],
    ['IPv6', '2001:db8::200', 128],
  ] as const)('%s', (_, vip, prefix) => {
    let here = ''
    let agent: Agent

    beforeAll(async () => {
      here = makeNamespace()
      cable(here, makeNamespace())
      agent = new Agent(here)
      await agent.call('watch')
    })
    afterAll(removeAll)

    const ofVip = (event: NetworkEvent) =>
      (event.kind === 'addressAdded' || event.kind === 'addressRemoved') && event.present.address === vip
    const heard = () => agent.events.filter(ofVip).map(({ kind }) => kind)
    const told = (kinds: readonly string[]) =>
      until(
        kinds.join(),
        () => agent.events.filter(ofVip),
        (events) => events.map(({ kind }) => kind).join() === kinds.join(),
      )
    /** Renews as the guardian does: the same request, with NLM_F_REPLACE. */
    const renew = (lifetime: string) => {
      const preferred = prefix === 128 ? '0' : lifetime
      ip(
        here,
        `addr replace ${vip}/${prefix} dev eth0 noprefixroute valid_lft ${lifetime} preferred_lft ${preferred}${prefix === 128 ? ' nodad' : ''}`,
      )
    }

    beforeEach(async () => {
      agent.events.length = 0
      await agent.call('apply', [add(vip, prefix)])
      await told(['addressAdded'])
      // The times of creation and renewal are equal within 10 ms.
      await sleep(30)
      renew('60')
      await told(['addressAdded', 'addressAdded'])
      agent.events.length = 0
      await sleep(30)
    })
    const remove = async () => {
      await agent.call('apply', [{ ...step(vip, prefix), action: 'remove' }])
      await until('its removal', heard, (kinds) => kinds.at(-1) === 'addressRemoved')
    }

    test('the second renewal is not reported, and a renewal with other flags is', async () => {
      renew('60')
      renew('50')
      await sleep(200)
      expect(heard()).toEqual([])
      renew('forever')
      await told(['addressAdded'])
      await sleep(30)
      renew('60')
      await told(['addressAdded', 'addressAdded'])
      await remove()
    })

    test('two changes of the flags before the engine reads are both reported', async () => {
      const blocked = agent.call('block', 600)
      renew('forever')
      renew('60')
      await blocked
      const isPermanent = ({ flags = 0 }: { readonly flags?: number | undefined }) => (flags & 0x80) !== 0
      await until(
        'the flags of the second change',
        () => agent.events.flatMap((event) => (event.kind === 'addressAdded' && ofVip(event) ? [event.present] : [])),
        (reported) => reported.map(isPermanent).join() === 'true,false',
      )
      await remove()
    })

    test('a removal by another program is reported, and so is the address that it adds', async () => {
      ip(here, `addr del ${vip}/${prefix} dev eth0`)
      renew('60')
      await told(['addressRemoved', 'addressAdded'])
      await remove()
    })

    test('an address that the engine removes and adds again is reported both times', async () => {
      await remove()
      await agent.call('apply', [add(vip, prefix)])
      await told(['addressRemoved', 'addressAdded'])
      await remove()
    })

    test('other addresses of the interface are reported', async () => {
      const other = prefix === 128 ? '2001:db8::201' : '198.51.100.201'
      ip(here, `addr add ${other}/${prefix} dev eth0`)
      await until('the other address', agent.events, (events) =>
        events.some((event) => event.kind === 'addressAdded' && event.present.address === other),
      )
      ip(here, `addr del ${other}/${prefix} dev eth0`)
      await remove()
    })
  })
})
