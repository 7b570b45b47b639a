/**
 * A cut so long that the kernel has lost its unicast peer. The better router's advertisement waits in the kernel for
 * the neighbour's MAC. The kernel sends it with the first exchange of addresses after the heal. In this case keepalived
 * yields to the advertisement without a packet, before any router was asked (docs/adr/0022). The client must not keep
 * keepalived's MAC. Decides how a kernel gets into this state. The pair and its assertions are in pair.ts.
 */
import { expect, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { inside, ip } from '../../src/lab/ip.ts'
import type { Host } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { describeInterop } from '../support/require.ts'
import type { Match, Protocol } from './match.ts'
import { globalAddress, Pair, type Which } from './pair.ts'

/** Time in ms after a takeover until its announcements end, which would hide a stale neighbour entry. */
const ANNOUNCED = 5_500
const SILENCE = 1_000
const RUNS = Number(process.env.REPEAT ?? '1')

const match = (protocol: Protocol): Match => ({
  ...{ protocol, transport: 'unicast', high: 'holdfast', low: 'keepalived' },
  name: `${protocol} unicast`,
})

class Neighbors {
  readonly #group: Pair
  readonly #address: (host: Host) => string

  constructor(group: Pair) {
    this.#group = group
    this.#address = group.match.protocol === 'v3 IPv6' ? globalAddress : ({ address }) => address
  }

  #entry(of: Which): string {
    return `${this.#address(this.#group[of === 'high' ? 'low' : 'high'].host)} dev eth0`
  }

  #ip(of: Which, ...lines: string[]): string {
    return ip(this.#group[of].host, ...lines)
  }

  forget(of: Which): void {
    this.#ip(of, `neigh flush ${this.#entry(of)}`)
  }

  /**
   * Sends a packet of another program of this node to the other node, so that its kernel asks the LAN. In IPv6 the kernel asks with the
   * packet's source, which the other node then resolves. A question of the kernel's own would have the link-local address.
   */
  ask(of: Which): void {
    const to = this.#address(this.#group[of === 'high' ? 'low' : 'high'].host)
    inside(this.#group[of].host, ['bash', '-c', `ip neigh flush ${this.#entry(of)}; echo > /dev/udp/${to}/9`])
  }

  state(of: Which): string {
    return (
      this.#ip(of, `neigh show ${this.#entry(of)}`)
        .trim()
        .split(' ')
        .at(-1) ?? ''
    )
  }
}

async function advertises(daemon: Holdfast): Promise<void> {
  const sent = async () => (await daemon.router()).counters.sent.advertisement ?? 0
  const before = await sent()
  const more = async () => (await sent()) > before
  await eventually('another advertisement', more, { sight: () => before, within: 5_000, every: 5 })
}

describeInterop('a unicast peer that the kernel lost', () => {
  for (const protocol of ['v2 PASS IPv4', 'v3 IPv4', 'v3 IPv6'] as const) {
    test(`${protocol}: keepalived yields to an advertisement that waited, and the client receives an announcement`, async (context) => {
      const group = new Pair(match(protocol))
      context.onTestFinished(() => group.lab.destroy())
      const neighbors = new Neighbors(group)
      await group.listen()
      const [high] = await Promise.all([group.start('high'), group.start('low')])
      if (!(high instanceof Holdfast)) throw new Error(`Expected holdfast, found ${high.kind}`)
      await group.settlesOn('high', 'both started')
      await sleep(ANNOUNCED)
      for (let i = 0; i < RUNS; i++) {
        group.lab.cut(group.high.host)
        await group.splits()
        await group.moves('low', 'to answer the client while holdfast is cut off')
        neighbors.forget('high')
        await advertises(high)
        const waits = neighbors.state('high')
        const at = group.lab.heal(group.high.host)
        // A separate process changes the bridge.
        await sleep(2)
        neighbors.ask('low')
        expect(waits, "state of the entry for keepalived in holdfast's kernel").toBe('INCOMPLETE')
        await group.isElected('high', `heal ${i + 1}`)
        await group.settlesOn('high', `heal ${i + 1}`)
        judgeTime('a client with its cached entry without an answer', group.silenceSince(at), SILENCE, 'docs/adr/0007')
        await sleep(Math.max(1_000, 2 * group.intervalMs))
      }
      await group.bothAreContent()
      await group.wireIsClean()
    })
  }
})
