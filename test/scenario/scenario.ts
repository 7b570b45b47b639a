/**
 * Text scenarios: blocks of commands, `----`, and all events since the block before. Decides the commands and their
 * output; the virtual LAN does the work. A reader needs RFC 9568 §6.4 and nothing of this file.
 *
 *   # remark                              at the top: what the scenario shows
 *   lan interval=100 profile=holdfast peers latency=0.2     interval in centiseconds, latency in ms
 *   node a 200 offset=5000 nopreempt minhold=10s
 *   member v4 ipv4 lan reversed           every node has it; several are a sync group (name, family, wire)
 *   start a b · shutdown a · yield a · crash a · stall a 500ms · cut a · heal a · deaf a b (a receives nothing of b)
 *   cut a ipv6 · heal a ipv6 · unplug a lan · plug a lan    a family or a wire only; the node notices a plug
 *   priority a 50 · run 1s · until active=b within 4s
 *   longest                               longest time in which no node, two or more answered since the last `longest`
 */
import type { ProfileName } from '../../src/vrrp/profile.ts'
import { type LanSpec, type NodeSpec, VirtualLan } from '../support/virtual-lan.ts'
import type { MemberSpec } from '../support/virtual-member.ts'

function duration(text: string): number {
  const match = /^([\d.]+)(ms|s)$/.exec(text)
  if (match === null) throw new Error(`Cannot read the duration "${text}": 500ms or 2s wanted`)
  return Number(match[1]) * (match[2] === 's' ? 1000 : 1)
}

function option(words: readonly string[], name: string): string | undefined {
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
}

function familyOf(text: string): 'ipv4' | 'ipv6' {
  if (text === 'ipv4' || text === 'ipv6') return text
  throw new Error(`Cannot use family "${text}"`)
}

function profileOf(text: string | undefined): ProfileName {
  if (text === undefined || text === 'holdfast' || text === 'keepalived' || text === 'rfc9568')
    return text ?? 'holdfast'
  throw new Error(`Cannot use profile "${text}"`)
}

class Stage {
  #lan: VirtualLan | undefined
  #spec: Omit<LanSpec, 'nodes'> = {}
  readonly #nodes: NodeSpec[] = []
  readonly #members: MemberSpec[] = []
  #told = 0
  #measuredFrom = 0

  get lan(): VirtualLan {
    this.#lan ??= new VirtualLan({
      ...this.#spec,
      nodes: this.#nodes,
      ...(this.#members.length === 0 ? {} : { members: this.#members }),
    })
    return this.#lan
  }

  /** Runs one command; returns additional lines to print. */
  command(line: string): string[] {
    const [verb = '', ...words] = line.split(/\s+/)
    const [name = '', second = '', third = ''] = words
    switch (verb) {
      case 'lan':
        this.#spec = {
          interval: Number(option(words, 'interval') ?? 100),
          latency: Number(option(words, 'latency') ?? 0.2),
          profile: profileOf(option(words, 'profile')),
          peers: words.includes('peers'),
        }
        return []
      case 'node':
        this.#nodes.push({
          name,
          priority: Number(second),
          offset: Number(option(words, 'offset') ?? 0),
          preempt: !words.includes('nopreempt'),
          minHold: duration(option(words, 'minhold') ?? '10s'),
        })
        return []
      case 'member':
        this.#members.push({ name, family: familyOf(second), wire: third, reversed: words.includes('reversed') })
        return []
      case 'start':
        for (const one of words) this.lan.start(one)
        return []
      case 'stall':
        this.lan.stall(name, duration(second))
        return []
      case 'deaf':
        this.lan.cutOneWay(second, name)
        return []
      case 'priority':
        this.lan.setPriority(name, Number(second))
        return []
      case 'run':
        this.lan.run(duration(name))
        return []
      case 'until': {
        const wanted = option(words, 'active') ?? ''
        const within = duration(words.at(-1) ?? '')
        const took = this.lan.runUntil(`active: ${wanted}`, () => this.lan.active.join(',') === wanted, within)
        return [`after ${took.toFixed(3)} ms`]
      }
      case 'longest': {
        const since = this.#measuredFrom
        this.#measuredFrom = this.lan.now
        const measured = this.#members.length === 0 ? [undefined] : this.#members.map((member) => member.name)
        return measured.map((member) => {
          const none = this.lan.longest((count) => count === 0, since, member).toFixed(3)
          const several = this.lan.longest((count) => count > 1, since, member).toFixed(3)
          return `${member === undefined ? '' : `${member}: `}nobody answered for ${none} ms, two or more for ${several} ms`
        })
      }
      case 'cut':
      case 'heal':
        this.lan[verb](name, second === '' ? undefined : second)
        return []
      case 'unplug':
      case 'plug':
        this.lan[verb](name, second)
        return []
      case 'shutdown':
      case 'yield':
      case 'crash':
        this.lan[verb](name)
        return []
      default:
        throw new Error(`Cannot run "${line}": unknown command`)
    }
  }

  /** Returns the events since the last call, and the present Active and holders. */
  happened(): string[] {
    const { notes, active, holders } = this.lan
    const fresh = notes.slice(this.#told)
    this.#told = notes.length
    const width = Math.max(...this.#nodes.map(({ name }) => name.length))
    return [
      ...fresh.map(({ at, node, text }) => `${at.toFixed(3).padStart(10)}  ${node.padEnd(width)}  ${text}`),
      `= Active: ${active.join(' ') || 'nobody'}; answers: ${holders.join(' ') || 'nobody'}`,
      ...this.#members.map(
        (member) => `= ${member.name} is answered for by: ${this.lan.holdersOf(member.name).join(' ') || 'nobody'}`,
      ),
    ]
  }
}

/** Returns the scenario as it should read: remarks and commands unchanged, and new results. */
export function perform(text: string): string {
  const stage = new Stage()
  const blocks = text.trim().split(/\n\n+/)
  return `${blocks
    .map((block) => {
      const lines = block.split('\n')
      const divider = lines.indexOf('----')
      const said = divider < 0 ? lines : lines.slice(0, divider)
      const results = said.filter((line) => !line.startsWith('#')).flatMap((line) => stage.command(line))
      // A block without commands that take place is the setting: it has no result.
      const acts = said.some((line) => !/^(#|lan |node |member )/.test(line))
      return acts ? [...said, '----', ...stage.happened(), ...results].join('\n') : said.join('\n')
    })
    .join('\n\n')}\n`
}
