/**
 * What `holdfast explain` says after each fault that the chaos suite can inflict (test/netns/explain-chaos.test.ts does it;
 * docs/explain.md has the table). A kind without a sentence does not compile, a variant without one fails a test. Decides how
 * long each fault lasts so that it is noticed; refuses to know how it is done.
 */
import type { Cause } from '../../src/explain/cause.ts'
import type { FaultKind, NodeName } from './plan.ts'

export type Sentence = {
  /** As plan.ts has them; '' where it has none. */
  readonly variant: string
  /** Where it is done; r1 is the owner. */
  readonly node: NodeName
  readonly ms: number
  /** Undefined: nothing happens that could be told. */
  readonly cause: Cause | undefined
  /** Part of the first sentence; `…` is what differs from one time to the next. Of no cause: of the notes above the story. */
  readonly says: string
}

const on = (node: NodeName, variant: string, ms: number, cause: Cause | undefined, says: string): Sentence => ({
  ...{ node, variant, ms, cause, says },
})
const owner = (ms: number, cause: Cause | undefined, says: string, variant = ''): Sentence =>
  on('r1', variant, ms, cause, says)

const CUT =
  'moved from r1 to r2: what r1 said did not reach r2, although r1 was Active all the time: the network between them was cut.'

export const SENTENCES: Readonly<Record<FaultKind, readonly Sentence[]>> = {
  'kill engine': [
    owner(
      1_500,
      'engineDied',
      'moved from r1 to r2: the engine of r1 died without a word, and its guardian let go of the address for it.',
    ),
  ],
  'kill guardian': [owner(1_500, 'guardianLost', 'moved from r1 to r2: r1 had lost its guardian.')],
  'kill group': [
    owner(
      2_500,
      'nodeDied',
      'moved from r1 to r2: r1 died with everything on it that speaks VRRP: engine and guardian at once, or the whole machine.',
    ),
  ],
  'freeze engine': [
    owner(1_500, 'engineAway', 'moved from r1 to r2: the engine of r1 stood still.'),
    owner(200, 'engineAway', 'r1: woke … late: its engine did not run.'),
  ],
  'freeze guardian': [owner(3_000, 'guardianLost', 'moved from r1 to r2: r1 had lost its guardian.')],
  'freeze both': [owner(1_500, 'engineAway', 'moved from r1 to r2: the engine of r1 stood still.')],
  'link flap': [owner(1_500, 'carrierLost', 'moved from r1 to r2: r1 lost its link.')],
  'one way': [
    owner(1_500, 'cut', CUT, 'out all'),
    owner(1_500, 'cut', CUT, 'out vrrp'),
    on('r2', 'in all', 1_500, 'cut', CUT),
    on('r2', 'in vrrp', 1_500, 'cut', CUT),
  ],
  'loss 30 %': [
    owner(
      3_000,
      'lossy',
      'has missed advertisements of r1…: nothing for …, at an interval of 100 ms: lost on the way, for r1 was neither late nor away.',
    ),
  ],
  partition: [
    owner(1_500, 'cut', CUT, 'alone'),
    owner(1_500, 'cut', CUT, 'routers'),
    owner(1_500, 'cut', CUT, 'with client'),
  ],
  'VIP deleted': [owner(0, 'foreignChange', 'r1: somebody else has removed 10.77.0.100 from eth0: added again.')],
  'address to bridge': [
    owner(
      1_500,
      'networkMoved',
      'moved from r1 to r2: the network of r1 was moved to another interface, or taken off the one it had (interfaceIsPort).',
    ),
  ],
  'interface gone': [owner(1_500, 'interfaceGone', 'moved from r1 to r2: the interface of r1 was removed.')],
  'clock step': [
    owner(0, undefined, 'The clock of r1 was set by 1 h 0 min before …', '+1 h'),
    owner(0, undefined, 'The clock of r1 was set by -1 h 0 min before …', '-1 h'),
  ],
  // Beside two busy CPUs an engine with --realtime runs; one that does not says that it woke late, as after a short freeze.
  'CPU hogs': [owner(1_500, undefined, '')],
  'reload storm': [
    owner(5_000, 'reloaded', 'r1: reloads its configuration: v4 changed, v6 changed.', 'same order'),
    owner(5_000, 'reloaded', 'moved from r1 to r2: another configuration was loaded on r1.', 'demoted'),
  ],
  'packet flood': [owner(4_000, 'rejected', 'r1: discards … on eth0, the last of 10.77.0.66: ….')],
  forged: [
    owner(
      4_000,
      'outranked',
      'moved from r1 to 10.77.0.4: 10.77.0.4, whose journal is not here, says that it is Active with priority 255.',
      'priority 255',
    ),
    owner(
      4_000,
      'forged',
      'moved from r1 to r2: somebody said in the name of r1 that it lets go (priority 0), which r1 did not: forged.',
      'priority 0',
    ),
    owner(
      4_000,
      'rival',
      'r1: is Active and hears that 10.77.0.4 is so as well, with priority 50; the journal of 10.77.0.4 is not here.',
      'lower priority',
    ),
  ],
}
