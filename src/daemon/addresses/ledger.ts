/**
 * A file in the run directory that names every VIP this node may have installed. The sweep at start knows the VIPs of
 * the present configuration by itself; the journal is for those that a changed configuration no longer names
 * (ground rule 4). It is written before the first VIP can be installed, replaced as a whole, and a journal that cannot
 * be read is no reason not to start.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, parseAddress } from '../../wire/address.ts'

export type JournalEntry = { readonly address: Address; readonly prefixLength: number; readonly interfaceName: string }

/** Where the names outlive the daemon; the simulator keeps them in a variable. Problems are words. */
export type AddressMemory = {
  read(): { readonly entries: readonly JournalEntry[]; readonly problem: string | undefined }
  write(entries: readonly JournalEntry[]): string | undefined
}

export const memoryOnDisk = (directory: string): AddressMemory => ({
  read: () => readJournal(directory),
  write: (entries) => writeJournal(directory, entries),
})

const FILE = 'addresses.json'

/** The journal of this run: grows when an interface is found for a router, shrinks only after a clean stop. */
export class Journal {
  readonly #memory: Pick<AddressMemory, 'write'>
  readonly #entries = new Map<string, JournalEntry>()
  #written = false

  constructor(memory: Pick<AddressMemory, 'write'>) {
    this.#memory = memory
  }

  /** Call it before the addresses can be installed. Returns what went wrong, in words. */
  add(entries: readonly JournalEntry[]): string | undefined {
    const before = this.#entries.size
    for (const entry of entries) {
      this.#entries.set(`${entry.address}/${entry.prefixLength} ${entry.interfaceName}`, entry)
    }
    // What could not be written is tried again whenever somebody asks; a full disk may have room by then.
    if (this.#entries.size === before && (this.#written || this.#entries.size === 0)) return undefined
    return this.#write()
  }

  /**
   * Keeps only the entries that `stays` names. Call it after the others were removed from the kernel, never before: what
   * the journal does not name, no later run removes. Returns what went wrong, in words.
   */
  retain(stays: (entry: JournalEntry) => boolean): string | undefined {
    const before = this.#entries.size
    for (const [key, entry] of this.#entries) if (!stays(entry)) this.#entries.delete(key)
    return this.#entries.size === before && this.#written ? undefined : this.#write()
  }

  #write(): string | undefined {
    const problem = this.#memory.write([...this.#entries.values()])
    this.#written = problem === undefined
    return problem
  }
}

/** Source: an earlier life of the daemon, or anybody with write access: entries that do not parse are dropped. */
export function readJournal(directory: string): { entries: JournalEntry[]; problem: string | undefined } {
  let text: string
  try {
    text = readFileSync(join(directory, FILE), 'utf8')
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return { entries: [], problem: missing ? undefined : `Cannot read ${join(directory, FILE)}: ${String(error)}` }
  }
  try {
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value)) throw new Error('a list is wanted')
    return { entries: value.flatMap(entryOf), problem: undefined }
  } catch (error) {
    return { entries: [], problem: `Cannot use ${join(directory, FILE)}: ${String(error)}` }
  }
}

/** Returns what went wrong, in words: without a journal the daemon runs, with one net less. */
export function writeJournal(directory: string, entries: readonly JournalEntry[]): string | undefined {
  const path = join(directory, FILE)
  try {
    mkdirSync(directory, { recursive: true, mode: 0o755 })
    writeFileSync(`${path}.new`, `${JSON.stringify(entries, undefined, 1)}\n`, { mode: 0o600 })
    renameSync(`${path}.new`, path)
    return undefined
  } catch (error) {
    discard(`${path}.new`)
    return `Cannot write ${path}: ${String(error)}`
  }
}

/** Half a journal on a full disk helps nobody; that it cannot be removed either is no news. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // What was wrong has been told.
  }
}

function entryOf(value: unknown): JournalEntry[] {
  if (typeof value !== 'object' || value === null) return []
  if (!('address' in value && 'prefixLength' in value && 'interfaceName' in value)) return []
  const { address, prefixLength, interfaceName } = value
  const parsed = typeof address === 'string' ? parseAddress(address) : undefined
  if (parsed === undefined || typeof prefixLength !== 'number' || typeof interfaceName !== 'string') return []
  return [{ address: parsed, prefixLength, interfaceName }]
}
