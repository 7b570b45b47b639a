/**
 * Follows the files of `interface: { holding: FILE }`: the content of each file as last reported, and the address in
 * force. The address in force is the last address named in the file that an interface of this node had. A change is
 * reported once. This class does not know how a file is read or watched, or what an address means for a router.
 */
import type { NamedAddress } from '../../config/named-address.ts'
import { LOG } from '../../log/log.ts'
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

  /** Content of the followed files, by path. */
  get named(): ReadonlyMap<string, NamedAddress> {
    return this.#named
  }

  /** Follows these address files and no others. Calls `onNews` with every later change of a file. */
  follow(files: readonly string[], onNews: (file: string, reading: NamedAddress['reading']) => void): void {
    if (files.length === 0 && this.#named.size === 0) return
    const read = this.#port?.follow(files, onNews)
    const entries = files.flatMap((file) => {
      const reading = read?.get(file) ?? this.#named.get(file)?.reading
      return reading === undefined ? [] : [[file, { ...this.#named.get(file), reading }] as const]
    })
    this.#named = new Map(entries)
  }

  /**
   * Notes the content of an address file. Returns false if the content is unchanged, or no router uses the file any
   * longer.
   */
  take(file: string, reading: NamedAddress['reading']): boolean {
    const before = this.#named.get(file)
    if (before === undefined || isSame(before.reading, reading)) return false
    this.#named.set(file, { ...before, reading })
    const { chronicle } = this.#recorder
    if ('address' in reading) {
      this.#recorder.logLimited(`named ${file}`, LOG.addressNamed, `${file} names ${reading.address}`, { file })
      chronicle.record({ kind: 'addressNamed', file, address: reading.address })
    } else {
      const former = before.inForce === undefined ? '' : `; ${before.inForce} stays in force while this node has it`
      this.#recorder.logLimited(`named ${file}`, LOG.addressNotNamed, `${file}: ${reading.problem}${former}`, { file })
      chronicle.record({ kind: 'addressNamed', file, problem: reading.problem })
    }
    return true
  }

  /**
   * For each address file: if an interface has the address named in the file, that address becomes the address in
   * force.
   */
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
