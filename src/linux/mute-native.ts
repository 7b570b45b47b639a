/**
 * An addon without a kernel: its sockets accept everything, send nothing and receive nothing. The rehearsal
 * (daemon/rehearsal.ts) uses this addon to run the code of src/linux without opening a descriptor.
 */
import { type GuardianWords, META_SIZE, type NativeAddon, type NativeSocket } from './native.ts'

class MuteSocket implements NativeSocket {
  readonly meta = new Uint8Array(META_SIZE)
  readonly data = new Uint8Array(0)
  setOption(): void {}
  bind(): void {}
  connect(): number {
    return 0
  }
  attachFilter(): void {}
  start(): void {}
  stop(): void {}
  expect(): void {}
  expectedAt(): number {
    return 0
  }
  expectNothing(): void {}
  watchRepeated(): void {}
  readRepeated(): boolean {
    return false
  }
  endRepeated(): void {}
  dueRepeated(): void {}
  receive(): number {
    return 0
  }
  send(): undefined {}
  set(): void {}
  heardAt(): number {
    return 0
  }
  close(): void {}
}

class MuteWords implements GuardianWords {
  word(): number {
    return 0
  }
  arm(): number {
    return 1
  }
  withdraw(): number {
    return 0
  }
  acknowledge(): number {
    return 0
  }
  deadline(): number {
    return 0
  }
  beat(at: number): number {
    return at
  }
  executions(): number {
    return 0
  }
  hungUp(): boolean {
    return false
  }
  slotArm(): number {
    return 1
  }
  slotWithdraw(): number {
    return 0
  }
  slotRead(_slot: number, out: Float64Array): void {
    out.fill(0)
  }
  answer(): void {}
  prove(): boolean {
    return true
  }
}

export const MUTE_NATIVE: NativeAddon = {
  NativeSocket: MuteSocket,
  ProcessEnd: MuteSocket,
  ChannelEnd: MuteSocket,
  NativeTimer: MuteSocket,
  BeatWatch: MuteSocket,
  GuardianWords: MuteWords,
  clocks: (out) => void out.fill(0),
  interfaceIndex: () => 0,
  keepLast: (descriptor) => descriptor,
}
