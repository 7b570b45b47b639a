/**
 * Content of the files of `interface: { holding: FILE }`, as far as this engine has heard, and which of it is in force:
 * the last address that an interface of this node had. Decided here: that only news are reported, once. Refuses to know
 * how a file is read or watched, and what an address means for a router.
 */
import type { NamedAddress } from '../../config/named-address.ts'
import type { Address } from '../../wire/address.ts'
import type { AddressFilePort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'

export class AddressFiles {
  readonly #port: AddressFilePort | undefined
  readonly #recorder: Recorder
  #named = new Map<string, NamedAddress>()

  constructor(port: AddressFilePort | undefined, recorder: Recorder) {
    this.#port = port
    this.#recorder = recorder
  }

  /** Followed files, by path. */
  get named(): ReadonlyMap<string, NamedAddress> {
    return this.#named
  }

  /** Follows these files and no others; calls `onNews` with every later news of one of them. */
  follow(files: readonly string[], onNews: (file: string, reading: NamedAddress['reading']) => void): void {
    if (files.length === 0 && this.#named.size === 0) return
    const read = this.#port?.follow(files, onNews)
    const entries = files.flatMap((file) => {
      const reading = read?.get(file) ?? this.#named.get(file)?.reading
      return reading === undefined ? [] : [[file, { ...this.#named.get(file), reading }] as const]
    })
    this.#named = new Map(entries)
  }

  /** Returns false if the content is known, or the file is followed no longer. */
  take(file: string, reading: NamedAddress['reading']): boolean {
    const before = this.#named.get(file)
    if (before === undefined || isSame(before.reading, reading)) return false
    this.#named.set(file, { ...before, reading })
    const { chronicle } = this.#recorder
    if ('address' in reading) {
      this.#recorder.logLimited(`named ${file}`, 'info', `${file} says ${reading.address}`, { file })
      chronicle.record({ kind: 'addressNamed', file, address: reading.address })
    } else {
      const kept = before.inForce === undefined ? '' : `, ${before.inForce} stays in force as long as it is here`
      this.#recorder.logLimited(`named ${file}`, 'warn', `${file}: ${reading.problem}${kept}`, { file })
      chronicle.record({ kind: 'addressNamed', file, problem: reading.problem })
    }
    return true
  }

  /** Puts the address in force that an interface has, and ends the one before. */
  settle(isHere: (address: Address) => boolean): void {
    for (const [file, named] of this.#named) {
      const { inForce, reading } = named
      if ('address' in reading && reading.address !== inForce && isHere(reading.address))
        this.#named.set(file, { reading, inForce: reading.address })
    }
  }
}

const isSame = (a: NamedAddress['reading'], b: NamedAddress['reading']): boolean =>
  'address' in a ? 'address' in b && a.address === b.address : 'problem' in b && a.problem === b.problem
