/**
 * The migration from multicast to unicast with real engines and agents. The cluster of three nodes is upgraded while
 * the agents' clocks differ. After the upgrade one engine restarts in the older mode, and the cluster goes back to
 * multicast. The test moves the agents' wall clocks by ten minutes instead of waiting. Kernel notifications, captured
 * packets and a client show the result of each step.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { run } from '../../src/lab/command.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { Capture, type Frame } from '../../src/lab/watch/capture.ts'
import { HolderHistory } from '../../src/lab/watch/holder-history.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { CannotBeJudged, judgeTime } from '../judge/time.ts'
import { ClusterLab, type LabNode } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 40_000
const LONGEST = 180_000
const MINUTE = 60_000
/** Wall time that is far from any tick of the change of mode. */
const WALL = Date.parse('2026-11-22T14:41:00Z')
/**
 * Times in ms by which the nodes' clocks are ahead. The clocks differ by less than an Active_Down_Interval minus an
 * interval.
 */
const SKEWS = [-700, 0, 900]
const PRELOAD = join(import.meta.dirname, '..', 'support', 'shifted-clock.mjs')
const DONE = { 'machineconfiguration.openshift.io/state': 'Done' }
/** Longest time in ms until a log line of an agent has arrived and its configuration is in force. */
const ABOUT = 1_000
const GROUP = '224.0.0.18'
const MULTICAST = ['ostest_API_0: multicast 224.0.0.18', 'ostest_INGRESS_0: multicast 224.0.0.18']
const UNICAST = ['ostest_API_0: unicast to 2 peers', 'ostest_INGRESS_0: unicast to 2 peers']

let played: Played | undefined
afterEach(async () => {
  await played?.end()
  played = undefined
})

/** A packet of a node, with its time by the clock of the tests. */
type Sent = { readonly at: number; readonly node: string; readonly frame: Frame }

type Change = { readonly times: readonly number[]; readonly inForce: number }

class Played {
  readonly cluster = new ClusterLab({ nodes: SKEWS.length })
  readonly captures: { readonly node: LabNode; readonly capture: Capture }[] = []
  #ahead = 0
  #beats = 0
  #heart: NodeJS.Timeout | undefined

  async begin(): Promise<void> {
    const { lab, nodes } = this.cluster
    await this.cluster.apiUp()
    // The kubelets write the time. An agent that slept by its own clock would not notice a moved clock.
    this.#beat()
    this.#heart = setInterval(() => this.#beat(), 500)
    // Each node gets a clock of its own. No other process of this machine sees these clocks.
    const etc = join(lab.directory, 'etc')
    run(['cp', '-a', '/etc', etc])
    mkdirSync(join(etc, 'keepalived'), { recursive: true })
    for (const node of nodes) {
      startResponder(lab, node.host)
      mkdirSync(this.#modes(node))
      const mounts = `mount --bind ${etc} /etc && mount --bind ${this.#modes(node)} /etc/keepalived`
      node.wrapper = ['unshare', '--mount', 'sh', '-c', `${mounts} && exec "$@"`, 'sh']
      const filter = `ip proto 112 and src host ${node.host.address}`
      this.captures.push({ node, capture: await Capture.start(lab, `sent-${node.name}`, filter, node.host) })
      node.startEngine()
    }
    this.setClocks(WALL)
    this.startAgents('no')
  }

  async end(): Promise<void> {
    clearInterval(this.#heart)
    await this.cluster.destroy()
  }

  #modes(node: LabNode): string {
    return join(this.cluster.lab.directory, `${node.name}-modes`)
  }

  #beat(): void {
    this.#beats++
    for (const { name, host } of this.cluster.nodes)
      this.cluster.register({ name, addresses: [host.address], annotations: { ...DONE, beat: String(this.#beats) } })
  }

  startAgents(unicast: 'yes' | 'no'): void {
    for (const node of this.cluster.nodes) {
      const NODE_OPTIONS = `--import ${PRELOAD}`
      node.environment = { NODE_OPTIONS, SHIFTED_CLOCK: this.#clock(node), ENABLE_UNICAST: unicast }
      node.startAgent()
    }
  }

  #clock(node: LabNode): string {
    return join(this.cluster.lab.directory, `${node.name}-clock`)
  }

  /** Writes the mode file on each node, as the machine config operator (MCO) does. */
  want(mode: string, file = 'monitor.conf'): void {
    for (const node of this.cluster.nodes) writeFileSync(join(this.#modes(node), file), `mode: ${mode}\n`)
  }

  /** Sets the clocks of all nodes; a clock with no skew then shows this time. */
  setClocks(says: number): void {
    this.#ahead = says - Date.now()
    for (const [i, node] of this.cluster.nodes.entries()) {
      writeFileSync(this.#clock(node), String(this.#ahead + (SKEWS[i] ?? 0)))
      node.agent?.signal('SIGWINCH')
    }
  }

  /**
   * Moves the clocks to a moment before the next tick, then to a moment before the planned change of mode. Returns when each node has
   * reported its change.
   */
  async change(to: string): Promise<Change> {
    const { nodes } = this.cluster
    const now = Date.now() + this.#ahead
    const tick = Math.ceil((now + MINUTE) / (10 * MINUTE)) * 10 * MINUTE
    this.setClocks(tick - 2_000)
    for (const { agent } of nodes) await agent?.line(new RegExp(`"mode":"${to}".*planned a change of mode`), WITHIN)
    this.setClocks(tick + 5 * MINUTE - 5_000)
    const times: number[] = []
    for (const node of nodes) {
      const said = await node.agent?.line(new RegExp(`"mode":"${to}".*"changing the mode"`), WITHIN)
      times.push(said?.at ?? Number.NaN)
      await node.routersAre(to === 'unicast' ? UNICAST : MULTICAST, WITHIN)
    }
    return { times, inForce: monotonicMs() }
  }

  /** Ends the captures, and returns all packets of the nodes. */
  async sent(): Promise<Sent[]> {
    const ahead = Date.now() - monotonicMs()
    const all = await Promise.all(
      this.captures.map(async ({ node, capture }) =>
        (await capture.stop()).map((frame) => ({ at: Number(frame.at) * 1e3 - ahead, node: node.host.name, frame })),
      ),
    )
    return all.flat().sort((one, other) => one.at - other.at)
  }
}

const isMulticast = ({ frame }: Sent): boolean => frame.destination === GROUP
const spread = (times: readonly number[]): number => Math.max(...times) - Math.min(...times)

/** Returns the ms from the last packet of one mode to the first packet of the other. */
function silenceIn(sent: readonly Sent[], wasSo: (one: Sent) => boolean): number {
  const next = sent.findIndex((one) => !wasSo(one))
  return (sent[next]?.at ?? Number.NaN) - (sent[next - 1]?.at ?? Number.NaN)
}

describeNetns('a migration from multicast to unicast', () => {
  test('all nodes change the mode together, the client is answered, an engine in the older mode is corrected, and all nodes can go back', {
    timeout: LONGEST,
  }, async () => {
    played = new Played()
    const { cluster } = played
    const { lab, nodes } = cluster
    await played.begin()
    for (const node of nodes) await node.routersAre(MULTICAST, WITHIN)
    const prober = new Prober(lab, lab.client, LAB_VIP)
    const holder = await eventually(
      'one node to have the VIP and to answer',
      () => (lab.holders(LAB_VIP).join() === prober.holder ? prober.holder : undefined),
      { sight: () => [lab.holders(LAB_VIP), prober.holder], within: WITHIN, every: 50 },
    )
    const history = new HolderHistory(lab, LAB_VIP)
    const backup = nodes.find(({ host }) => host.name !== holder)
    if (backup === undefined) throw new Error('Cannot find a Backup: every node holds the address')
    const former = readFileSync(backup.memory, 'utf8')
    const since = monotonicMs()

    // The upgrade brings new pods, which would begin in unicast, and the mode file of the MCO.
    for (const { agent } of nodes) {
      agent?.signal('SIGKILL')
      await agent?.exited
    }
    played.startAgents('yes')
    played.want('unicast')
    for (const { agent } of nodes) {
      const said = await agent?.line(/"configuration handed over to the engine"/, WITHIN)
      expect(said?.text, 'configuration after the upgrade, still in multicast').toContain('10.77.0.1')
      expect(said?.text).toContain(' multicast')
    }
    const there = await played.change('unicast')
    await sleep(5_000)
    const restarted = monotonicMs()

    // The engine of a Backup restarts with its configuration from before the change.
    backup.engine?.killFamily()
    await backup.engine?.exited
    writeFileSync(backup.memory, former)
    backup.startEngine()
    await backup.routersAre(UNICAST, WITHIN)
    const overruled = monotonicMs()
    // The agent reads the mode file at its next check, well before the tick.
    played.want('multicast', 'monitor-user.conf')
    await sleep(4_000)
    const returning = monotonicMs()
    const back = await played.change('multicast')
    await sleep(5_000)
    const to = monotonicMs()
    const account = history.between(since, restarted)
    const atRestart = history.between(restarted, returning)
    const backAgain = history.between(returning, to)
    const gap = prober.longestGap(since, to)
    await prober.stop()
    const sent = (await played.sent()).filter(({ at }) => at > since && at < to)
    const by = (name: string) => sent.filter(({ node }) => node === name)
    const silence = silenceIn(by(holder), isMulticast)
    // The holder in the end differs from the first one only if an engine was corrected too late or had no CPU.
    const inTheEnd = backAgain.holders[0] ?? holder
    const silenceBack = silenceIn(
      by(inTheEnd).filter(({ at }) => at > returning),
      (one) => !isMulticast(one),
    )
    const story = nodes.flatMap(({ host, engine, agent }) =>
      [...(engine?.lines ?? []), ...(agent?.lines ?? [])]
        .filter(
          ({ at, text }) => at > since && /→|"level":[4-6]0|change of mode|changing the mode|handed over/.test(text),
        )
        .map(({ at, text }) => `${(at - since).toFixed(0)} ${host.name} ${text.slice(0, 300)}`),
    )
    const figures = {
      ...{ holder, clocksDifferBy: spread(SKEWS), changedWithin: spread(there.times), backWithin: spread(back.times) },
      ...{ silence, silenceBack, longestGap: gap },
      ...{ overruledAfter: overruled - restarted, account, atRestart, backAgain },
    }
    process.stdout.write(
      `migration: ${JSON.stringify(figures, (_, each) => (typeof each === 'number' ? Math.round(each) : each))}\n`,
    )
    const told = `\n${story.join('\n')}\n`
    // If an engine had no CPU, its guardian removes the address. A run without CPU for an engine shows nothing about
    // the agent.
    const starved = story.filter((line) => /the engine does not answer/.test(line))
    if (starved.length > 0) throw new CannotBeJudged(`an engine got no time: ${starved.join('\n')}`)
    // An engine that is corrected later than an Active_Down_Interval acts as if it had no peers.
    if (figures.overruledAfter >= 3_000)
      throw new CannotBeJudged(`the restarted engine was overruled after ${figures.overruledAfter.toFixed(0)} ms`)
    const well = { nobody: 0, several: 0, holders: [holder] }
    expect(
      account,
      `ms without a holder and with two holders, until the end of the change to unicast:${told}`,
    ).toMatchObject(well)
    expect(
      backAgain,
      `ms without a holder and with two holders, during the change back to multicast:${told}`,
    ).toMatchObject({ nobody: 0, several: 0 })
    judgeTime(`ms without an answer:${told}`, gap, 500, 'docs/agent-decisions.md')
    expect(
      atRestart,
      `ms without a holder and with two holders, at the restart of a Backup's engine:${told}`,
    ).toMatchObject(well)
    expect([...new Set(sent.map(({ node }) => node))], 'nodes that have advertised').toEqual([holder])
    expect(backAgain.holders, `holders during the change back to multicast:${told}`).toHaveLength(1)
    // The nodes send in the old mode until the first node has changed, and in the new mode after the last node has changed. Between these
    // moments, packets of both modes may be on the LAN.
    const places = (from: number, until: number, name = holder) => [
      ...new Set(by(name).flatMap(({ at, frame }) => (at > from && at < until ? [frame.destination] : []))),
    ]
    const peers = nodes.flatMap(({ host }) => (host.name === holder ? [] : [host.address]))
    expect(places(since, Math.min(...there.times) - ABOUT), 'before').toEqual([GROUP])
    expect(places(there.inForce, Math.min(...back.times) - ABOUT).sort(), 'since').toEqual(peers)
    expect(places(back.inForce, to, inTheEnd), 'in the end').toEqual([GROUP])
    for (const ms of [silence, silenceBack])
      expect(ms, 'ms from the last packet of the old mode to the first packet of the new mode').toBeLessThan(3_000)
  })
})
