/**
 * Decides whether two worlds are equal: compared exactly, not by a hash. A node in its state, and the content of the
 * wire, occur in many worlds and are stored once (frame.ts has given every value one form and one order). By this, a
 * world is stored as five numbers. Parts that did not change from one world to the next are neither written nor
 * compared.
 */
import { Rows, Shared } from './table.ts'
import type { Node, Overlap, World } from './world.ts'

/** The part of a world that decides what can happen next. The rest of a world is its past and its limits. */
type Situation = Pick<World, 'nodes' | 'wire'>
type Rest = Omit<World, keyof Situation>

/** Stores the parts of all worlds that are compared with each other. */
export class Parts {
  readonly #nodes = new Shared<Node>()
  readonly #wires = new Shared<World['wire']>(wireText)

  numbersOf({ nodes: [a, b, c], wire }: Situation): readonly number[] {
    const nodes = this.#nodes
    return [nodes.numberOf(a), nodes.numberOf(b), nodes.numberOf(c), this.#wires.numberOf(wire)]
  }

  /** Returns the stored parts. A later comparison with them is short. */
  of([a = 0, b = 0, c = 0, wire = 0]: readonly number[]): Situation {
    const nodes = this.#nodes
    return { nodes: [nodes.at(a), nodes.at(b), nodes.at(c)], wire: this.#wires.at(wire) }
  }
}

/** Stores every visited world. Worlds are numbered in the order of the visits. */
export class Worlds {
  readonly #parts: Parts
  readonly #rests = new Shared<Rest>(restText)
  readonly #rows = new Rows(5)

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#rows.size
  }

  /** Returns the number of a world. The number of a new world is the `size` before the call. */
  numberOf(world: World): number {
    const { answers, cut, faults, reigns } = world
    const rest = this.#rests.numberOf({ answers, cut, faults, reigns })
    return this.#rows.numberOf([...this.#parts.numbersOf(world), rest])
  }

  at(number: number): World {
    const row = this.#rows.at(number)
    return { ...this.#parts.of(row), ...this.#rests.at(row[4] ?? 0) }
  }
}

const wireText = (wire: World['wire']): string =>
  wire
    .map(
      ({ from, held, said, to }) =>
        `${from}${to}${said.kind === 'advertisement' ? said.priority : said.kind}${held ? '!' : ''}`,
    )
    .join()

const overlapText = (each: Overlap | undefined): string => (each ? `${each.for}${each.undisturbed ? '' : '!'}` : '')
const restText = ({ answers, cut, faults, reigns }: Rest): string =>
  `${faults};${cut.join()};${reigns.map(overlapText).join()};${answers.map(overlapText).join()}`
