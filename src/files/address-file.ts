/**
 * The files of `interface: { holding: FILE }` as they are now, and again when they have changed. Decided here: that a look
 * at a file never waits for whoever may write it, and how often one looks. Refuses to know what the address means.
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

/** More than any address and its line end; what is longer is none. */
const LONGEST = 256
/** The kernel is asked so often what time it was last written: a storm of changes is two looks a second. */
const LOOK_EVERY = 500
/** A writer that has begun is done by then, and two changes in one tick of the file's clock are one. */
const SETTLED_AFTER = 50
const HOW = constants.O_RDONLY | constants.O_NONBLOCK

export function readAddressFile(file: string): Reading {
  try {
    const descriptor = openSync(file, HOW)
    try {
      if (!fstatSync(descriptor).isFile()) return NO_FILE
      const bytes = Buffer.alloc(LONGEST)
      return judge(bytes, readSync(descriptor, bytes, 0, LONGEST, 0))
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
      return judge(bytes, (await handle.read(bytes, 0, LONGEST, 0)).bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    return { problem: complaint(error) }
  }
}

/** For whoever judges a configuration: those that `known` does not have yet. */
export function addressFilesOf(
  config: Pick<Config, 'virtualRouters'>,
  known: ReadonlyMap<string, NamedAddress> = new Map(),
): ReadonlyMap<string, NamedAddress> {
  const fresh = (file: string): NamedAddress => known.get(file) ?? { reading: readAddressFile(file) }
  return new Map(addressFilesIn(config).map((file) => [file, fresh(file)]))
}

const NO_FILE: Reading = { problem: 'it is no regular file' }

const judge = (bytes: Buffer, length: number): Reading =>
  length === LONGEST
    ? { problem: 'it is too long for one address' }
    : readAddressText(bytes.toString('utf8', 0, length))

function complaint(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'it does not exist'
  return code === 'EACCES' ? 'it may not be read (EACCES)' : `it cannot be read (${code})`
}

type Watched = { readonly stop: () => void }

/** Behind the daemon's AddressFilePort; its looks are asked of the thread pool, and keep no process alive. */
export class WatchedAddressFiles {
  readonly #watched = new Map<string, Watched>()
  /** Read for the configuration that comes next. */
  #prepared: ReadonlyMap<string, Reading> = new Map()

  /** So that the engine waits for no disk when it takes that configuration. */
  async prepare(next: Pick<Config, 'virtualRouters'>): Promise<void> {
    const added = addressFilesIn(next).filter((file) => !this.#watched.has(file))
    this.#prepared = new Map(await Promise.all(added.map(async (file) => [file, await readLater(file)] as const)))
  }

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
  // What changed between the first reading and the first look of the watcher.
  look(2 * LOOK_EVERY)
  return {
    stop: () => {
      stopped = true
      unwatchFile(file, listener)
    },
  }
}
