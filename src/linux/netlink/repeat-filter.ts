/**
 * Keeps repeated reports of an address from waking the engine. The guardian renews the lifetime of each VIP every
 * second or so, and the kernel reports each renewal. This file decides that a report is a repeat if it has the flags of
 * the last report of that address, and if the address was not created by it. The kernel then drops the repeat (a filter
 * of the socket). All other reports pass the filter. Other files decide the meaning of a report.
 */
import type { AddressStep, PresentAddress } from '../../daemon/ports.ts'
import { addressBytes } from '../../wire/address.ts'
import {
  AUXILIARY,
  type Instruction,
  JUMP,
  JUMP_IF_EQUAL,
  JUMP_IF_EQUAL_INDEX,
  LOAD,
  LOAD_HALF,
  LOAD_INDEX,
  LOAD_MEMORY,
  LOAD_WORD,
  LOAD_WORD_INDEXED,
  RETURN,
  STORE_MEMORY,
  socketFilter,
  TO_INDEX,
} from '../sockets/socket-filter.ts'

/** RTM_NEWADDR, as the half word that a filter loads. */
const NEW_ADDRESS = 0x1400
/** struct nlmsghdr has 16 octets, struct ifaddrmsg after it 8: family, prefix, flags, scope, interface index. */
const FAMILY_AND_PREFIX = 16
const INTERFACE = 20
const FIRST_ATTRIBUTE = 24
const AF_INET = 2
const AF_INET6 = 10
const IFA_ADDRESS = 1
const IFA_LOCAL = 2
const IFA_CACHEINFO = 6
const IFA_FLAGS = 8
/** An attribute begins with its length and type. */
const VALUE = 4
/** struct ifa_cacheinfo: preferred and valid lifetime, then the times of creation and of the last change. */
const CREATED = VALUE + 8
const CHANGED = VALUE + 12
/**
 * Longest program in instructions. The kernel makes up to six of its own from one, and by default a socket has memory
 * for 2 500 of these. Addresses that do not fit wake the engine as before.
 */
const LONGEST = 800

const PASS: readonly Instruction[] = [[RETURN, 0, 0, 0xffff]]
const DROP: Instruction = [RETURN, 0, 0, 0]

type Place = Pick<PresentAddress, 'interfaceIndex' | 'address' | 'prefixLength'>
const keyOf = ({ address, interfaceIndex, prefixLength }: Place) => `${interfaceIndex} ${address}/${prefixLength}`

/** Returns the value that a filter loads for a number of the host (little endian). */
function swapped(value: number): number {
  const bytes = new DataView(new ArrayBuffer(4))
  bytes.setUint32(0, value, true)
  return bytes.getUint32(0, false)
}

/** Loads the offset of an attribute; 0 if the message has no such attribute. */
const attribute = (type: number): readonly Instruction[] => [
  [LOAD, 0, 0, FIRST_ATTRIBUTE],
  [LOAD_INDEX, 0, 0, type],
  [LOAD_WORD, 0, 0, AUXILIARY.attribute],
]

/** Passes everything that is not RTM_NEWADDR, and each address that its report created: both times are equal. */
const ONLY_CHANGES: readonly Instruction[] = [
  [LOAD_HALF, 0, 0, 4],
  [JUMP_IF_EQUAL, 1, 0, NEW_ADDRESS],
  ...PASS,
  ...attribute(IFA_CACHEINFO),
  [JUMP_IF_EQUAL, 0, 1, 0],
  ...PASS,
  [TO_INDEX, 0, 0, 0],
  [LOAD_WORD_INDEXED, 0, 0, CREATED],
  [STORE_MEMORY, 0, 0, 0],
  [LOAD_WORD_INDEXED, 0, 0, CHANGED],
  [TO_INDEX, 0, 0, 0],
  [LOAD_MEMORY, 0, 0, 0],
  [JUMP_IF_EQUAL_INDEX, 0, 1, 0],
  ...PASS,
]

/** Returns the words of an address, as a filter loads them. */
function wordsOf({ address }: Place): readonly number[] {
  const bytes = addressBytes(address)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, false))
}

/** Returns the part of an address that all addresses of a group have: everything but the last word. */
const groupOf = (present: PresentAddress): string =>
  [present.interfaceIndex, present.prefixLength, present.flags, ...wordsOf(present).slice(0, -1)].join(' ')

/** Drops reports of the addresses of a group, which differ in their last word only. */
function dropGroup(group: readonly PresentAddress[]): readonly Instruction[] {
  const [first] = group
  if (first === undefined) return []
  const { flags = 0, interfaceIndex, prefixLength } = first
  const words = wordsOf(first)
  const isV6 = words.length > 1
  const last = words.length - 1
  const conditions: readonly (readonly Instruction[])[] = [
    [
      [LOAD_HALF, 0, 0, FAMILY_AND_PREFIX],
      [JUMP_IF_EQUAL, 1, 0, ((isV6 ? AF_INET6 : AF_INET) << 8) | prefixLength],
    ],
    [
      [LOAD_WORD, 0, 0, INTERFACE],
      [JUMP_IF_EQUAL, 1, 0, swapped(interfaceIndex)],
    ],
    [
      ...attribute(IFA_FLAGS),
      [TO_INDEX, 0, 0, 0],
      [LOAD_WORD_INDEXED, 0, 0, VALUE],
      [JUMP_IF_EQUAL, 1, 0, swapped(flags)],
    ],
    ...words
      .slice(0, -1)
      .map((word, i): readonly Instruction[] => [
        ...(i === 0 ? ([...attribute(IFA_ADDRESS), [TO_INDEX, 0, 0, 0]] as const) : []),
        [LOAD_WORD_INDEXED, 0, 0, VALUE + 4 * i],
        [JUMP_IF_EQUAL, 1, 0, word],
      ]),
  ]
  const body: readonly Instruction[] = [
    ...(isV6 ? [] : ([...attribute(IFA_LOCAL), [TO_INDEX, 0, 0, 0]] as const)),
    [LOAD_WORD_INDEXED, 0, 0, VALUE + 4 * last],
    ...group.flatMap((present): Instruction[] => [[JUMP_IF_EQUAL, 0, 1, wordsOf(present)[last] ?? 0], DROP]),
  ]
  // A condition that does not hold continues behind the group. A conditional jump does not reach that far.
  let rest = body
  for (const condition of conditions.toReversed()) rest = [...condition, [JUMP, 0, 0, rest.length], ...rest]
  return rest
}

export class RepeatFilter {
  readonly #attach: (program: Uint8Array) => void
  /** Flags in the kernel's last report of each address. */
  readonly #reported = new Map<string, number | undefined>()
  readonly #dropped = new Map<string, PresentAddress>()
  #isChanged = false
  /** True if an address whose repeats were dropped has other flags now. */
  #mayHaveDropped = false

  /** Creates a filter that drops nothing yet. `attach` sets the filter of the socket. */
  constructor(attach: (program: Uint8Array) => void) {
    this.#attach = attach
  }

  /** Notes a report about an address that the socket has received. */
  note(kind: 'address' | 'addressGone', present: PresentAddress): void {
    const key = keyOf(present)
    const isRepeat = kind === 'address' && present.flags !== undefined && this.#reported.get(key) === present.flags
    if (kind === 'address') this.#reported.set(key, present.flags)
    else this.#reported.delete(key)
    if (!isRepeat) {
      const wasDropped = this.#dropped.delete(key)
      this.#isChanged ||= wasDropped
      this.#mayHaveDropped ||= wasDropped && kind === 'address'
    } else if (!this.#dropped.has(key)) {
      this.#dropped.set(key, present)
      this.#isChanged = true
    }
  }

  /**
   * Sets the filter of the socket, if a report since the last call has changed the filter. Returns true if the former
   * filter may have dropped a change: an address got other flags, and then the former ones before this call.
   */
  settle(): boolean {
    const mayHaveDropped = this.#mayHaveDropped
    this.#mayHaveDropped = false
    if (this.#isChanged) this.#attachProgram()
    return mayHaveDropped
  }

  #attachProgram(): void {
    this.#isChanged = false
    try {
      this.#attach(this.#program())
    } catch {
      // A socket without memory for the program lets everything through.
      this.#attach(socketFilter(...PASS))
    }
  }

  #program(): Uint8Array {
    const groups = new Map<string, PresentAddress[]>()
    for (const present of this.#dropped.values()) {
      const group = groupOf(present)
      groups.set(group, [...(groups.get(group) ?? []), present])
    }
    const program: Instruction[] = groups.size === 0 ? [] : [...ONLY_CHANGES]
    for (const group of groups.values()) {
      const drops = dropGroup(group)
      if (program.length + drops.length < LONGEST) program.push(...drops)
    }
    return socketFilter(...program, ...PASS)
  }

  /** Returns the addresses whose flags differ from their last report, and notes their flags. */
  takeUnreported(addresses: readonly PresentAddress[]): readonly PresentAddress[] {
    const unreported = addresses.filter((present) => this.#reported.get(keyOf(present)) !== present.flags)
    for (const present of unreported) this.#reported.set(keyOf(present), present.flags)
    return unreported
  }

  /**
   * Lets the reports of an address through that the engine is about to change, because it waits for the report. The
   * kernel may report a new IPv6 address so late that the report looks like a renewal.
   */
  expect(steps: readonly AddressStep[]): void {
    if (this.#dropped.size > 0 && steps.some((step) => this.#dropped.has(keyOf(step)))) this.forget()
  }

  /** Forgets all reports about addresses, because the kernel has dropped some of them. */
  forget(): void {
    this.#reported.clear()
    this.#isChanged = this.#dropped.size > 0
    this.#dropped.clear()
    this.settle()
  }
}
