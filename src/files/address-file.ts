/**
 * Reads the address files of `interface: { holding: FILE }`, and reads them again when they have changed. Reading never
 * waits for the program that writes a file. This file decides how often a file is checked. This file knows nothing
 * about the meaning of the address.
 */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  type StatsListener,
  unwatchFile,
  watchFile,
} from 'node:fs'
import { open } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import { addressFilesIn } from '../config/holding.ts'
import type { NamedAddress } from '../config/named-address.ts'
import { readAddressText } from '../config/schema/holding.ts'

type Reading = NamedAddress['reading']

/** Size limit of an address file in octets: more than any address and its line end. */
const LONGEST = 256
/**
 * Milliseconds between two checks of the modification time. A file that changes often is read at most twice a second.
 */
const LOOK_EVERY = 500
/**
 * Milliseconds from a change of an address file to its reading. A program that writes is finished by then, and two
 * changes in one tick of the file system's clock count as one.
 */
const SETTLED_AFTER = 50
const HOW = constants.O_RDONLY | constants.O_NONBLOCK

/** Reads an address file. Returns the address, or the problem. */
export function readAddressFile(file: string): Reading {
  try {
    const descriptor = openSync(file, HOW)
    try {
      if (!fstatSync(descriptor).isFile()) return NO_FILE
      const bytes = Buffer.alloc(LONGEST)
      return readingOf(bytes, readSync(descriptor, bytes, 0, LONGEST, 0))
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    return { problem: complaint(error) }
  }
}

async function readLater(file: string): Promise<Reading> {
  try {
    const handle = await open(file, HOW)
    try {
      if (!(await handle.stat()).isFile()) return NO_FILE
      const bytes = Buffer.alloc(LONGEST)
      return readingOf(bytes, (await handle.read(bytes, 0, LONGEST, 0)).bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    return { problem: complaint(error) }
  }
}

/** Returns the contents of the address files of a configuration. Files that are in `known` are not read again. */
export function addressFilesOf(
  config: Pick<Config, 'virtualRouters'>,
  known: ReadonlyMap<string, NamedAddress> = new Map(),
): ReadonlyMap<string, NamedAddress> {
  const fresh = (file: string): NamedAddress => known.get(file) ?? { reading: readAddressFile(file) }
  return new Map(addressFilesIn(config).map((file) => [file, fresh(file)]))
}

const NO_FILE: Reading = { problem: 'it is not a regular file' }

const readingOf = (bytes: Buffer, length: number): Reading =>
  length === LONGEST
    ? { problem: 'the file is too long for one address' }
    : readAddressText(bytes.toString('utf8', 0, length))

function complaint(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'it does not exist'
  return code === 'EACCES' ? 'permission denied (EACCES)' : `it cannot be read (${code})`
}

type Watched = { readonly stop: () => void }

/**
 * Implements the daemon's AddressFilePort. The reads of an address file use the thread pool, and do not keep the
 * process alive.
 */
export class WatchedAddressFiles {
  readonly #watched = new Map<string, Watched>()
  /** Contents of the address files that the next configuration names, read before that configuration is in force. */
  #prepared: ReadonlyMap<string, Reading> = new Map()

  /**
   * Reads new address files in advance, so that the engine does not wait for a disk when the new configuration takes
   * effect.
   */
  async prepare(next: Pick<Config, 'virtualRouters'>): Promise<void> {
    const added = addressFilesIn(next).filter((file) => !this.#watched.has(file))
    this.#prepared = new Map(await Promise.all(added.map(async (file) => [file, await readLater(file)] as const)))
  }

  /** Watches these address files and no others. Returns the contents of the files that were not watched before. */
  follow(files: readonly string[], onNews: (file: string, reading: Reading) => void): ReadonlyMap<string, Reading> {
    for (const [file, { stop }] of this.#watched) {
      if (files.includes(file)) continue
      stop()
      this.#watched.delete(file)
    }
    const added = files.filter((file) => !this.#watched.has(file))
    for (const file of added)
      this.#watched.set(
        file,
        watch(file, (reading) => onNews(file, reading)),
      )
    return new Map(added.map((file) => [file, this.#prepared.get(file) ?? readAddressFile(file)]))
  }

  close(): void {
    for (const { stop } of this.#watched.values()) stop()
    this.#watched.clear()
  }
}

function watch(file: string, onReading: (reading: Reading) => void): Watched {
  let [stopped, waits] = [false, false]
  const look = (after: number) => {
    if (waits || stopped) return
    waits = true
    setTimeout(async () => {
      waits = false
      const reading = await readLater(file)
      if (!stopped) onReading(reading)
    }, after).unref()
  }
  const listener: StatsListener = () => look(SETTLED_AFTER)
  watchFile(file, { interval: LOOK_EVERY, persistent: false }, listener)
  // Reads a change that happened between the first reading and the first check of the watcher.
  look(2 * LOOK_EVERY)
  return {
    stop: () => {
      stopped = true
      unwatchFile(file, listener)
    },
  }
}
