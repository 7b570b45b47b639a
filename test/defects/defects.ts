/**
 * Ten defects that a VRRP daemon can have, each as edits of src/, with the test that must fail because of it and what that failure
 * says. Decides what is planted; main.ts builds the daemon with it. A unit test shows that each of them can still be planted.
 */
export type Edit = {
  readonly file: string
  /** Occurs there once. */
  readonly from: string
  readonly to: string
}
export type Defect = {
  readonly name: string
  readonly edits: readonly Edit[]
  readonly test: string
  /** Part of the test's name. */
  readonly only: string
  /** Part of the message of its failure: it fails because of the defect, and not because of a slow machine. */
  readonly says: RegExp
}

const edit = (file: string, from: string, to: string): Edit => ({ file, from, to })
const FAILOVER = 'test/netns/failover.test.ts'
const NETS = 'test/netns/safety-nets.test.ts'
const CHECKS = 'test/netns/healthcheck.test.ts'

export const DEFECTS: readonly Defect[] = [
  {
    name: 'a Backup takes over two intervals late',
    edits: [
      edit(
        'src/vrrp/timers.ts',
        'millis(3 * centisToMillis(interval) + skew',
        'millis(5 * centisToMillis(interval) + skew',
      ),
    ],
    test: FAILOVER,
    only: 'the cable of the Active is pulled',
    says: /r2 answers after the cable of r1 was pulled[\s\S]*expected at most/,
  },
  {
    name: 'a node that leaves sends no priority 0',
    edits: [
      edit('src/vrrp/extensions/leaving.ts', "    { kind: 'sendAdvertisement', priority: 0, reason },\n", ''),
      edit('src/vrrp/extensions/leaving.ts', 'repeatAt: plus(now, REPEAT_AFTER)', 'repeatAt: undefined'),
    ],
    test: NETS,
    only: 'an engine whose guardian is killed leaves',
    says: /reason for which r2 took over, a priority 0 and no silence/,
  },
  {
    name: 'a node that has stopped leaves its VIP behind',
    edits: [
      edit(
        'src/daemon/addresses/address-keeper.ts',
        'return addresses.flatMap((address) => {',
        'return addresses.slice(addresses.length).flatMap((address) => {',
      ),
    ],
    test: FAILOVER,
    only: 'after SIGTERM, the address stays until the successor advertises',
    says: /ms in which two routers answered ARP|r2 alone to hold the address after r1 got SIGTERM/,
  },
  {
    name: 'a new Active sends no gratuitous ARP',
    edits: [
      edit(
        'src/daemon/lan/announcer.ts',
        'this.#send = send',
        'this.#send = (frames) => send(frames.slice(frames.length)).concat(frames.map(() => ({ ok: true })))',
      ),
    ],
    test: FAILOVER,
    only: 'a cut is healed',
    says: /r2 to answer and be Active after r1 was cut off/,
  },
  {
    name: 'a Backup decides before it has read what waits in its socket',
    edits: [
      // Three parts prevent this takeover, each alone: the drain, the check of a late alarm, and the kernel's timer. The engine reads that
      // timer after the sockets that became readable earlier.
      edit('src/daemon/engine.ts', 'const { drainBeforeExpire } = options', 'const drainBeforeExpire = false'),
      edit('src/daemon/engine.ts', 'wakeUp = wakeUpBy(schedule) } = ports', '} = ports, wakeUp = wakeUpBy(schedule)'),
    ],
    test: 'test/netns/stall.test.ts',
    only: 'never takes over from a living Active',
    says: /after which the Backup took over although the Active.s advertisements had arrived/,
  },
  {
    name: 'a guardian does nothing for an engine that is frozen',
    edits: [
      edit('src/daemon/guard/cleanup-plan.ts', 'remove: parts.flatMap(({ remove }) => remove)', 'remove: []'),
      edit(
        'src/daemon/guard/cleanup-plan.ts',
        'parts.flatMap(({ release }) => (release.datagrams.length === 0 ? [] : [release]))',
        '[]',
      ),
    ],
    test: NETS,
    only: 'the guardian of a frozen engine removes the address',
    says: /ms in which two routers answered while the engine of r1 was frozen/,
  },
  {
    name: 'a failed check lowers the priority by half of its weight',
    edits: [
      edit(
        'src/config/weights.ts',
        'weight > 0 === up ? weight * sign : 0',
        'weight > 0 === up ? (weight * sign) / 2 : 0',
      ),
    ],
    test: CHECKS,
    only: 'if the process of the service is killed',
    says: /the sum of all that is down/,
  },
  {
    name: 'a check that is down counts as up',
    edits: [edit('src/daemon/health/tracking.ts', "reverse, up: state.countsAs === 'up' }", 'reverse, up: true }')],
    test: CHECKS,
    only: 'if the service answers 500',
    says: /r2 to answer after a server that answers 500/,
  },
  {
    name: 'an Active stays Active beside one of higher priority',
    edits: [
      edit(
        'src/vrrp/fsm.ts',
        'const isHigher = advertisement.priority > priority\n',
        'const isHigher = advertisement.priority > 255\n',
      ),
    ],
    test: FAILOVER,
    only: 'the highest priority is elected',
    says: /r\d alone to hold the address after it joined/,
  },
  {
    name: 'an Active goes on without an address that was removed',
    edits: [
      edit(
        'src/daemon/addresses/address-keeper.ts',
        "if (due.length === 0) return 'unchanged'",
        "if (due.length >= 0) return 'unchanged'",
      ),
    ],
    test: FAILOVER,
    only: 'an address that was removed from the Active is put back',
    says: /r1 answers after its address was removed[\s\S]*expected at most/,
  },
]

export type Planted = { readonly file: string; readonly text: string; readonly after: string }

/** Returns each file of the defect as it is and as it becomes. Throws if an edit finds no place, or several. */
export function planted({ edits, name }: Defect, read: (file: string) => string): Planted[] {
  return [...new Set(edits.map(({ file }) => file))].map((file) => {
    const text = read(file)
    const own = edits.filter((each) => each.file === file)
    const after = own.reduce((now, { from, to }) => {
      const places = now.split(from).length - 1
      if (places !== 1) throw new Error(`Cannot plant "${name}": ${file} has ${places} times: ${from}`)
      return now.replace(from, () => to)
    }, text)
    return { file, text, after }
  })
}
