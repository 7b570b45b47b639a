/**
 * Stores the ledger (ledger.ts) in a file of the run directory. The file is always replaced as a whole. The engine
 * never waits for the disk: write() returns immediately, and the newest list is written after the list that is being
 * written. If the disk hangs or fails, the file is missing and the log has a line. A ledger file that cannot be read
 * does not prevent the start.
 */
import { readFileSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAddress } from '../../wire/address.ts'
import type { AddressMemory, LedgerEntry } from './ledger.ts'

const FILE = 'addresses.json'
/** Milliseconds after which a disk that hangs is reported. */
const SLOW = 5_000
/** Milliseconds between two attempts to write the file after a failure. */
const RETRY = 10_000
/** Longest time in milliseconds that flush() waits for the disk. */
const LAST = 1_000

/** The ledger file. `onProblem` receives the text of each problem. */
export class LedgerFile implements AddressMemory {
  readonly #directory: string
  readonly #path: string
  readonly #onProblem: (message: string) => void
  #wanted: readonly LedgerEntry[] | undefined
  #writing: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined

  constructor(directory: string, onProblem: (message: string) => void) {
    this.#directory = directory
    this.#path = join(directory, FILE)
    this.#onProblem = onProblem
  }

  read(): ReturnType<AddressMemory['read']> {
    return readLedger(this.#directory)
  }

  write(entries: readonly LedgerEntry[]): void {
    this.#wanted = entries
    this.#begin()
  }

  /** Resolves when the last list of addresses is written, or after LAST milliseconds. */
  async flush(): Promise<void> {
    clearTimeout(this.#retry)
    let late: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      late = setTimeout(resolve, LAST)
    })
    await Promise.race([this.#writing ?? Promise.resolve(), patience])
    clearTimeout(late)
  }

  #begin(): void {
    clearTimeout(this.#retry)
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
  }

  async #writeAll(): Promise<void> {
    while (this.#wanted !== undefined) {
      const entries = this.#wanted
      this.#wanted = undefined
      const slow = setTimeout(() => this.#complain('the disk does not answer'), SLOW)
      slow.unref()
      const error = await this.#replace(entries)
      clearTimeout(slow)
      if (error === undefined) continue
      this.#complain(error)
      if (this.#wanted !== undefined) continue
      this.#wanted = entries
      this.#retry = setTimeout(() => this.#begin(), RETRY)
      this.#retry.unref()
      return
    }
  }

  /** Writes the list of addresses. Returns the error; `undefined` if the list was written. */
  async #replace(entries: readonly LedgerEntry[]): Promise<unknown> {
    const fresh = `${this.#path}.new`
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o755 })
      await writeFile(fresh, `${JSON.stringify(entries, undefined, 1)}\n`, { mode: 0o600 })
      await rename(fresh, this.#path)
      return undefined
    } catch (error) {
      // The disk may be full, and an incomplete list of addresses is useless. If the new file cannot be removed, the
      // failure is ignored.
      await rm(fresh, { force: true }).catch(() => {})
      return error
    }
  }

  #complain(why: unknown): void {
    this.#onProblem(`Cannot write ${this.#path}: ${String(why)}`)
  }
}

/**
 * Reads the list of addresses that an earlier run installed. Any program with write access may have changed the file,
 * so entries that do not parse are left out.
 */
export function readLedger(directory: string): { entries: LedgerEntry[]; problem: string | undefined } {
  let text: string
  try {
    text = readFileSync(join(directory, FILE), 'utf8')
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return { entries: [], problem: missing ? undefined : `Cannot read ${join(directory, FILE)}: ${String(error)}` }
  }
  try {
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value)) throw new Error('not a list')
    return { entries: value.flatMap(entryOf), problem: undefined }
  } catch (error) {
    return { entries: [], problem: `Cannot use ${join(directory, FILE)}: ${String(error)}` }
  }
}

function entryOf(value: unknown): LedgerEntry[] {
  if (typeof value !== 'object' || value === null) return []
  if (!('address' in value && 'prefixLength' in value && 'interfaceName' in value)) return []
  const { address, prefixLength, interfaceName } = value
  const parsed = typeof address === 'string' ? parseAddress(address) : undefined
  if (parsed === undefined || typeof prefixLength !== 'number' || typeof interfaceName !== 'string') return []
  return [{ address: parsed, prefixLength, interfaceName }]
}
