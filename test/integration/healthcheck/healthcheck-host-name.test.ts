import type { LookupAddress } from 'node:dns'
import { describe, expect, test } from 'vitest'
import { HostName } from '../../../src/healthcheck/connection/host-name.ts'
import { FailedProbe } from '../../../src/healthcheck/failed-probe.ts'
import { sleep } from '../../../src/lab/wait.ts'

const signal = new AbortController().signal
const failing = (code: string): Promise<never> => Promise.reject(Object.assign(new Error(code), { code }))
const asked = () => Promise.reject(new Error('no resolver is to be asked'))

describe('the lookup of a host name', () => {
  test.each([
    ['192.0.2.1', ['192.0.2.1']],
    ['[2001:db8::1]', ['2001:db8::1']],
    ['localhost', ['127.0.0.1', '::1']],
    ['API.localhost.', ['127.0.0.1', '::1']],
  ])('%s asks nobody', async (name, wanted) => {
    const found = await new HostName(name, asked).addresses(signal)
    expect(found.map(({ address }) => address)).toEqual(wanted)
  })

  test('uses an answer for a while before the next request', async () => {
    let questions = 0
    const host = new HostName('api.example', () => {
      questions++
      return Promise.resolve([{ address: '192.0.2.1', family: 4 }])
    })
    for (let i = 0; i < 5; i++) await host.addresses(signal)
    expect(questions).toBe(1)
  })

  test('keeps an old answer while the resolver is silent or fails, and drops it when the name does not exist', async () => {
    let resolve: () => Promise<LookupAddress[]> = () => Promise.resolve([{ address: '192.0.2.1', family: 4 }])
    const host = new HostName('api.example', () => resolve(), 0)
    await host.addresses(signal)
    resolve = () => failing('EAI_AGAIN')
    for (let i = 0; i < 3; i++) {
      expect(await host.addresses(signal)).toEqual([{ address: '192.0.2.1', family: 4 }])
      await sleep(1)
    }
    resolve = () => failing('ENOTFOUND')
    await host.addresses(signal)
    await sleep(1)
    await expect(host.addresses(signal)).rejects.toMatchObject({ reason: 'nameNotFound' })
    let late: (addresses: LookupAddress[]) => void = () => {}
    resolve = () => new Promise((answered) => (late = answered))
    const waiting = host.addresses(signal)
    late([{ address: '192.0.2.2', family: 4 }])
    expect(await waiting).toEqual([{ address: '192.0.2.2', family: 4 }])
  })

  test.each([
    ['ENOTFOUND', 'nameNotFound', 'Cannot look up "api.example": the name does not exist'],
    ['EAI_AGAIN', 'nameUnanswered', 'Cannot look up "api.example": error of the resolver: EAI_AGAIN'],
  ])('%s: %s', async (code, reason, message) => {
    const error: unknown = await new HostName('api.example', () => failing(code)).addresses(signal).catch((e) => e)
    expect(error).toBeInstanceOf(FailedProbe)
    expect(error).toMatchObject({ reason, message })
  })

  test('does not accept an answer without an address', async () => {
    const empty = new HostName('api.example', () => Promise.resolve([]))
    await expect(empty.addresses(signal)).rejects.toMatchObject({ reason: 'nameNotFound' })
  })
})
