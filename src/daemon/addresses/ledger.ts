/**
 * The ledger: a file in the run directory that names every VIP this node may have installed. The sweep at start knows the
 * VIPs of the present configuration by itself; the ledger is for those that a changed configuration no longer names (ground
 * rule 4). It is written before the first VIP can be installed, and replaced as a whole. A ledger that cannot be read is no
 * reason not to start.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ResolvedRouter } from '../../config/resolve.ts'
import { ownsAddresses } from '../../vrrp/parameters.ts'
import { type Address, parseAddress } from '../../wire/address.ts'
import type { Recorder } from '../telemetry/recorder.ts'

export type LedgerEntry = { readonly address: Address; readonly prefixLength: number; readonly interfaceName: string }

/** Memory that outlives the daemon; the simulator keeps it in a variable. A problem is text for people. */
export type AddressMemory = {
  read(): { readonly entries: readonly LedgerEntry[]; readonly problem: string | undefined }
  write(entries: readonly LedgerEntry[]): string | undefined
}

export const memoryOnDisk = (directory: string): AddressMemory => ({
  read: () => readLedger(directory),
  write: (entries) => writeLedger(directory, entries),
})

const FILE = 'addresses.json'

/** The ledger of this run: grows when an interface is found for a router, shrinks only after a clean stop. */
export class AddressLedger {
  readonly #memory: Pick<AddressMemory, 'write'>
  readonly #entries = new Map<string, LedgerEntry>()
  #written = false

  constructor(memory: Pick<AddressMemory, 'write'>) {
    this.#memory = memory
  }

  /** Names the addresses of these routers, before the first can be installed: for `auto` the interface may be found late. */
  cover(resolved: readonly ResolvedRouter[], recorder: Pick<Recorder, 'logLimited'>): void {
    const problem = this.add(
      resolved.flatMap(({ forms, interfaceName: own, parameters }) =>
        ownsAddresses(parameters)
          ? []
          : forms.flatMap(({ address, prefixLength, interfaceName = own }) =>
              interfaceName === undefined ? [] : { address, prefixLength, interfaceName },
            ),
      ),
    )
    // Tried again with every change of the network: a full disk must not fill the log as well.
    if (problem !== undefined) recorder.logLimited('ledger unwritten', 'warn', problem)
  }

  /** Call it before the addresses can be installed. Returns the problem, as text. */
  add(entries: readonly LedgerEntry[]): string | undefined {
    const before = this.#entries.size
    for (const entry of entries) {
      this.#entries.set(`${entry.address}/${entry.prefixLength} ${entry.interfaceName}`, entry)
    }
    // A ledger that could not be written is tried again with each call; a full disk may have room by then.
    if (this.#entries.size === before && (this.#written || this.#entries.size === 0)) return undefined
    return this.#write()
  }

  /**
   * Keeps only the entries that `stays` names. Call it after the others were removed from the kernel, never before: no later run
   * removes an address that the ledger does not name. Returns the problem, as text.
   */
  retain(stays: (entry: LedgerEntry) => boolean): string | undefined {
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

/** Reads the ledger of an earlier run, or of any program with write access: entries that do not parse are dropped. */
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
    if (!Array.isArray(value)) throw new Error('a list is wanted')
    return { entries: value.flatMap(entryOf), problem: undefined }
  } catch (error) {
    return { entries: [], problem: `Cannot use ${join(directory, FILE)}: ${String(error)}` }
  }
}

/** Returns the problem, as text: without a ledger the daemon runs, with one net less. */
export function writeLedger(directory: string, entries: readonly LedgerEntry[]): string | undefined {
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

/** Half a ledger on a full disk is of no use; that it cannot be removed either is no news. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The problem was reported.
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
