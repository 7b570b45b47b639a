/**
 * Classic BPF for SO_ATTACH_FILTER: struct sock_filter and the few instructions in use. Loads are in network byte
 * order. Other files decide which socket drops which packets.
 */

export type Instruction = readonly [code: number, jumpIfTrue: number, jumpIfFalse: number, k: number]

/** Encodes the instructions of a filter, each as u16 code, u8 jump if true, u8 jump if false, u32 k. */
export function socketFilter(...program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(8 * program.length)
  const view = new DataView(bytes.buffer)
  for (const [i, [code, jt, jf, k]] of program.entries()) {
    view.setUint16(8 * i, code, true)
    bytes.set([jt, jf], 8 * i + 2)
    view.setUint32(8 * i + 4, k, true)
  }
  return bytes
}

export const LOAD_WORD = 0x20
export const LOAD_HALF = 0x28
export const LOAD_BYTE = 0x30
/** Instruction that loads at an offset from the index register. */
export const LOAD_HALF_INDEXED = 0x48
export const LOAD_BYTE_INDEXED = 0x50
export const LOAD_WORD_INDEXED = 0x40
/** Instruction that sets the accumulator to a number. */
export const LOAD = 0x00
/** Instructions that set the index register: to a number, and to the accumulator. */
export const LOAD_INDEX = 0x01
export const TO_INDEX = 0x07
/** Instructions that write and read a word of the filter's memory. */
export const STORE_MEMORY = 0x02
export const LOAD_MEMORY = 0x60
/** Instruction that jumps over `k` others. A conditional jump reaches 255. */
export const JUMP = 0x05
export const JUMP_IF_EQUAL = 0x15
/** Conditional jump that compares with the index register. */
export const JUMP_IF_EQUAL_INDEX = 0x1d
export const JUMP_IF_SET = 0x45
export const RETURN = 0x06

/**
 * Offsets of LOAD_WORD that the kernel computes. `attribute`: offset of the netlink attribute whose type is in the index
 * register. The search begins at the offset in the accumulator. 0 = there is none.
 */
export const AUXILIARY = { attribute: 0xfffff00c } as const
