/**
 * Effects in rounds: the order of one router stays, equal work of several routers is one call, each router receives its
 * own outcomes, and an outcome may add orders.
 */
import { describe, expect, test } from 'vitest'
import { type Act, EffectRunner, type Order, type Sender } from '../../../src/daemon/effect-runner.ts'
import type { AddressStep, Datagram, Failure } from '../../../src/daemon/ports.ts'
import { address } from '../../../src/wire/address.ts'
import { millis } from '../../../src/wire/units.ts'

const NOW = millis(1_000)
const FAILURE: Failure = { code: 'EPERM', syscall: 'fake', message: 'Cannot', retryable: false }

/** All calls in their order. A destination or address in `broken` fails. */
function scene(broken: readonly string[] = []) {
  const calls: string[] = []
  const outcome = (name: string) =>
    broken.includes(name) ? ({ ok: false, failure: FAILURE } as const) : ({ ok: true, changed: true } as const)
  const sender = (name: string): Sender => ({
    send: (datagrams) => {
      calls.push(`${name}: ${datagrams.map(({ destination }) => destination).join(' ')}`)
      return datagrams.map(({ destination }) => outcome(destination))
    },
  })
  const runner = new EffectRunner({
    apply: (steps) => {
      calls.push(`apply: ${steps.map((step) => step.address).join(' ')}`)
      return steps.map((step) => ({ step, ...outcome(step.address) }))
    },
  })
  return { calls, runner, sender, heard: (text: string) => calls.push(text) }
}

const datagram = (to: string): Datagram => ({ destination: address(to), bytes: Uint8Array.of() })
const step = (to: string): AddressStep => ({
  action: 'add',
  interfaceIndex: 2,
  address: address(to),
  prefixLength: 32,
})
const send =
  (sender: Sender, to: readonly string[], done: Extract<Act, { kind: 'send' }>['done'] = () => {}): Order =>
  () => ({ kind: 'send', sender, items: to.map(datagram), done })
const apply =
  (to: readonly string[], done: Extract<Act, { kind: 'apply' }>['done'] = () => {}): Order =>
  () => ({ kind: 'apply', items: to.map(step), done })
const say =
  (heard: (text: string) => void, text: string): Order =>
  () => {
    heard(text)
    return undefined
  }

describe('a round', () => {
  test('a round is one call for each sender and one for all addresses, then the next round comes', () => {
    const { calls, runner, sender } = scene()
    const [lan, wan] = [sender('lan'), sender('wan')]
    runner.add({}, [send(lan, ['10.0.0.1', '10.0.0.2']), apply(['192.0.2.1'])])
    runner.add({}, [send(wan, ['10.0.0.3']), apply(['192.0.2.2'])])
    runner.add({}, [send(lan, ['10.0.0.4']), apply(['192.0.2.3', '192.0.2.4'])])
    runner.run(NOW)
    expect(calls).toEqual([
      'lan: 10.0.0.1 10.0.0.2 10.0.0.4',
      'wan: 10.0.0.3',
      'apply: 192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4',
    ])
  })

  test('a round keeps the order of each router, after its earlier orders', () => {
    const { calls, heard, runner, sender } = scene()
    const [api, ingress] = [{}, {}]
    runner.add(api, [apply(['192.0.2.1'])])
    runner.add(ingress, [send(sender('lan'), ['10.0.0.9']), say(heard, 'ingress 2')])
    runner.add(api, [send(sender('lan'), ['10.0.0.1']), say(heard, 'api 3')])
    runner.run(NOW)
    expect(calls).toEqual(['lan: 10.0.0.9', 'apply: 192.0.2.1', 'ingress 2', 'lan: 10.0.0.1', 'api 3'])
  })

  test('an order runs only in its round', () => {
    const { calls, runner } = scene()
    let wanted = 'not yet'
    runner.add({}, [
      apply(['192.0.2.1'], () => {
        wanted = '192.0.2.7'
      }),
      () => apply([wanted])(NOW),
    ])
    runner.run(NOW)
    expect(calls).toEqual(['apply: 192.0.2.1', 'apply: 192.0.2.7'])
  })

  test('a round without items makes no call, and still reports its outcome', () => {
    const { calls, heard, runner, sender } = scene()
    runner.add({}, [send(sender('lan'), [], () => heard('sent')), apply([], () => heard('applied'))])
    runner.run(NOW)
    expect(calls).toEqual(['sent', 'applied'])
  })
})

describe('an outcome', () => {
  test('an outcome goes to the router of the part, with the time of the turn', () => {
    const { heard, calls, runner } = scene(['192.0.2.2'])
    const tell = (name: string): Extract<Act, { kind: 'apply' }>['done'] => {
      return (outcomes, now) => heard(`${name} at ${now}: ${outcomes.map(({ ok, step: s }) => `${s.address} ${ok}`)}`)
    }
    runner.add({}, [apply(['192.0.2.1'], tell('api'))])
    runner.add({}, [apply(['192.0.2.2', '192.0.2.3'], tell('ingress'))])
    runner.run(NOW)
    expect(calls.slice(1)).toEqual(['api at 1000: 192.0.2.1 true', 'ingress at 1000: 192.0.2.2 false,192.0.2.3 true'])
  })

  test('an outcome may add orders after those of its router', () => {
    const { heard, calls, runner, sender } = scene(['192.0.2.1'])
    const api = {}
    runner.add(api, [
      apply(['192.0.2.1'], ([outcome]) => {
        if (outcome?.ok === false) runner.add(api, [send(sender('lan'), ['10.0.0.1'])])
        runner.run(NOW)
        heard('asked again from inside')
      }),
      say(heard, 'the second one'),
    ])
    runner.run(NOW)
    expect(calls).toEqual(['apply: 192.0.2.1', 'asked again from inside', 'the second one', 'lan: 10.0.0.1'])
  })

  test('afterwards() calls once when no order is left, and may add orders', () => {
    const { heard, calls, runner } = scene()
    const settle = () => {
      heard('settled')
      runner.add({}, [apply(['192.0.2.9'])])
    }
    runner.afterwards(settle)
    runner.afterwards(settle)
    runner.add({}, [apply(['192.0.2.1']), apply(['192.0.2.2'])])
    runner.run(NOW)
    expect(calls).toEqual(['apply: 192.0.2.1', 'apply: 192.0.2.2', 'settled', 'apply: 192.0.2.9'])
    runner.run(NOW)
    expect(calls.length, 'a second run has nothing to do').toBe(4)
  })
})

test('an order without datagrams reaches no socket, and its router learns that it is done', () => {
  const { calls, heard, runner, sender } = scene()
  const done = (outcomes: readonly unknown[]) => {
    heard(`done: ${outcomes.length}`)
    return []
  }
  const lan = sender('lan')
  runner.add({}, [send(lan, [], done)])
  runner.add({}, [apply(['192.0.2.1'])])
  runner.run(NOW)
  expect(calls).toEqual(['done: 0', 'apply: 192.0.2.1'])
})
