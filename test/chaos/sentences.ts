/**
 * The sentence that `holdfast explain` prints after each fault of the chaos suite. test/netns/explain-chaos.test.ts
 * inflicts the faults, and docs/explain.md has the table. A kind without a sentence does not compile, a variant without
 * one fails a test. Decides how long each fault lasts so that it is noticed. This file does not know how a fault is
 * inflicted.
 */
import type { Cause } from '../../src/explain/cause.ts'
import type { FaultKind, NodeName } from './plan.ts'

export type Sentence = {
  /** Variant of the kind, as in plan.ts. '' if the kind has no variants. */
  readonly variant: string
  /** Node on which the fault happens. r1 is the holder. */
  readonly node: NodeName
  readonly ms: number
  /** Cause that the sentence names. `undefined` if the fault causes no event that a node can notice. */
  readonly cause: Cause | undefined
  /** Part of the first sentence. `…` stands for text that differs from run to run. Without a cause: part of the notes above the story. */
  readonly says: string
}

const on = (node: NodeName, variant: string, ms: number, cause: Cause | undefined, says: string): Sentence => ({
  ...{ node, variant, ms, cause, says },
})
const holder = (ms: number, cause: Cause | undefined, says: string, variant = ''): Sentence =>
  on('r1', variant, ms, cause, says)

const CUT =
  'moved from r1 to r2: advertisements of r1 did not reach r2, although r1 was Active all the time: the network between them was cut.'

export const SENTENCES: Readonly<Record<FaultKind, readonly Sentence[]>> = {
  'kill engine': [
    holder(
      1_500,
      'engineDied',
      'moved from r1 to r2: the engine of r1 crashed or was killed; its guardian released the VIP.',
    ),
  ],
  'kill guardian': [holder(1_500, 'guardianLost', 'moved from r1 to r2: r1 lost its guardian and stopped.')],
  'kill group': [
    holder(2_500, 'nodeDied', 'moved from r1 to r2: r1 died: engine and guardian together, or the whole machine.'),
  ],
  'freeze engine': [
    holder(
      1_500,
      'engineAway',
      'moved from r1 to r2: the engine of r1 did not run (frozen, no CPU, or the machine was paused).',
    ),
    // At 100 ms: late by half an interval at least, and silent for less than three.
    holder(175, 'engineAway', 'r1: engine woke … late (no CPU, or the machine was paused).'),
  ],
  'freeze guardian': [holder(3_000, 'guardianLost', 'moved from r1 to r2: r1 lost its guardian and stopped.')],
  'freeze both': [
    holder(
      1_500,
      'engineAway',
      'moved from r1 to r2: the engine of r1 did not run (frozen, no CPU, or the machine was paused).',
    ),
  ],
  'link flap': [holder(1_500, 'carrierLost', 'moved from r1 to r2: r1 lost its link.')],
  'one way': [
    holder(1_500, 'cut', CUT, 'out all'),
    holder(1_500, 'cut', CUT, 'out vrrp'),
    on('r2', 'in all', 1_500, 'cut', CUT),
    on('r2', 'in vrrp', 1_500, 'cut', CUT),
  ],
  'loss 30 %': [
    holder(
      3_000,
      'lossy',
      'missed advertisements of r1…: none for …, at an interval of 100 ms: lost on the way; r1 was neither late nor away.',
    ),
  ],
  partition: [
    holder(1_500, 'cut', CUT, 'alone'),
    holder(1_500, 'cut', CUT, 'routers'),
    holder(1_500, 'cut', CUT, 'with client'),
  ],
  'VIP deleted': [
    holder(0, 'foreignChange', 'r1: another program removed 10.77.0.100 from eth0: holdfast added the address again.'),
  ],
  'address to bridge': [
    holder(
      1_500,
      'networkMoved',
      'moved from r1 to r2: the interface of r1 lost its own address, or became the port of a bridge or bond (interfaceIsPort).',
    ),
  ],
  'interface gone': [holder(1_500, 'interfaceGone', 'moved from r1 to r2: the interface of r1 was removed.')],
  'clock step': [
    holder(0, undefined, 'The wall clock of r1 was changed by 1 h 0 min before …', '+1 h'),
    holder(0, undefined, 'The wall clock of r1 was changed by -1 h 0 min before …', '-1 h'),
  ],
  // Beside two busy CPUs an engine with --realtime runs; one that does not says that it woke late, as after a short freeze.
  'CPU hogs': [holder(1_500, undefined, '')],
  'reload storm': [
    holder(5_000, 'reloaded', 'r1: reloads its configuration: v4 changed, v6 changed.', 'same order'),
    holder(5_000, 'reloaded', 'moved from r1 to r2: a reload changed the configuration on r1.', 'demoted'),
  ],
  'packet flood': [holder(4_000, 'rejected', 'r1: discards … on eth0, the last of 10.77.0.66: ….')],
  forged: [
    holder(
      4_000,
      'outranked',
      'moved from r1 to 10.77.0.4: 10.77.0.4 has higher priority (255 > …) and took over; the journal of 10.77.0.4 was not read.',
      'priority 255',
    ),
    holder(
      4_000,
      'forged',
      'moved from r1 to r2: a forged release (priority 0) was sent in the name of r1, which had not sent it.',
      'priority 0',
    ),
    holder(
      4_000,
      'rival',
      'r1: is Active, and heard that 10.77.0.4 is Active too, with priority 50; the journal of 10.77.0.4 was not read.',
      'lower priority',
    ),
  ],
}
