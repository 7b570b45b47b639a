/**
 * `holdfast capture`: prints VRRP, ARP and Neighbor Discovery of one interface, one frame per line. This file decides
 * which frames are printed and written to a file, and that the command waits for an interface that is down. The command
 * works with or without a running daemon, but never in the daemon's process (docs/adr/0011).
 */

import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { EXIT } from '../../app/exit-code.ts'
import { missingCapabilities } from '../../app/machine/capability.ts'
import { messageOf } from '../../base/message-of.ts'
import type { Failure } from '../../daemon/ports.ts'
import { sightingOf } from './capture-decode.ts'
import type { CaptureHost, CaptureInterface } from './capture-host.ts'
import { CaptureTable, formatJson } from './capture-line.ts'
import { pcapHeader, pcapRecord } from './pcap-file.ts'

export type CaptureOptions = {
  readonly interfaceName: string | undefined
  readonly json: boolean
  /** Path of the pcap file that the command writes; `undefined`: no file. */
  readonly write: string | undefined
  /** Number of captured frames to print. `undefined`: the command runs until SIGINT. */
  readonly count: number | undefined
}

/** Milliseconds between two searches for a missing interface. */
const LOOK_AGAIN = 200
/** Values of /sys/class/net/NAME/type (linux/if_arp.h) with Ethernet headers. */
const ETHERNET_TYPES = ['1', '772']

const writeError = (text: string): void => void process.stderr.write(`holdfast: ${text}\n`)

/** Runs the capture of frames. Returns the exit status. */
export async function captureCommand(options: CaptureOptions, host: CaptureHost): Promise<number> {
  if (missingCapabilities().includes('CAP_NET_RAW')) {
    writeError('Cannot capture without CAP_NET_RAW: run this command as root (in a container: docker exec --user 0)')
    return EXIT.privilege
  }
  const { look } = host
  const interfaceName = options.interfaceName ?? onlyOne(look())
  if (interfaceName === undefined) return EXIT.usage
  if (!look().some(({ name }) => name === interfaceName)) {
    writeError(`Cannot capture on "${interfaceName}": interface does not exist`)
    return EXIT.failure
  }
  if (!isEthernet(interfaceName)) {
    writeError(`Cannot capture on "${interfaceName}": not an Ethernet interface`)
    return EXIT.failure
  }
  let file: number | undefined
  if (options.write !== undefined) {
    // Frames are written unchanged. For this reason a password of VRRP version 2 is readable in the capture file.
    try {
      file = openSync(options.write, 'w', 0o600)
      writeSync(file, pcapHeader())
    } catch (error) {
      writeError(`Cannot write ${options.write}: ${messageOf(error)}`)
      return EXIT.failure
    }
  }
  try {
    return await new Session(interfaceName, options, host, file).run()
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/**
 * Tells whether frames of the interface have Ethernet headers. Returns true if /sys is missing: frames without such
 * headers then match no filter.
 */
function isEthernet(interfaceName: string): boolean {
  try {
    return ETHERNET_TYPES.includes(readFileSync(`/sys/class/net/${interfaceName}/type`, 'utf8').trim())
  } catch {
    return true
  }
}

function onlyOne(interfaces: readonly CaptureInterface[]): string | undefined {
  const names = interfaces.filter(({ addressed, up }) => addressed && up).map(({ name }) => name)
  if (names.length === 1) return names[0]
  const found = names.length === 0 ? 'no interface is up and has an address' : `${names.join(', ')} have addresses`
  writeError(`Cannot choose an interface: ${found}; name one with -i`)
  return undefined
}

class Session {
  readonly #interfaceName: string
  readonly #options: CaptureOptions
  readonly #host: CaptureHost
  readonly #file: number | undefined
  readonly #table = new CaptureTable()
  #stopped = false
  #headed = false
  #lines = 0
  /** Ends the current wait for frames or for an interface. */
  #wake = (): void => {}

  constructor(interfaceName: string, options: CaptureOptions, host: CaptureHost, file: number | undefined) {
    this.#interfaceName = interfaceName
    this.#options = options
    this.#host = host
    this.#file = file
  }

  async run(): Promise<number> {
    const stop = (): void => this.#stop()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop)
    // The program that reads standard output, such as `head`, has closed the pipe.
    process.stdout.on('error', stop)
    while (!this.#stopped) {
      const index = this.#indexIfUp()
      if (index === undefined) {
        writeError(`"${this.#interfaceName}" is down or gone: waiting for it`)
        while (!this.#stopped && this.#indexIfUp() === undefined) await this.#pause()
        continue
      }
      const failure = await this.#listen(index)
      if (failure === undefined) break
      // The interface may go down after it was found. The tap of a deleted interface fails with ENODEV.
      if (failure.code !== 'ENETDOWN' && this.#indexIfUp() === index) {
        writeError(`Cannot capture: ${failure.message}`)
        return EXIT.failure
      }
      await this.#pause()
    }
    if (this.#options.write !== undefined) writeError(`${this.#lines} frames written to ${this.#options.write}`)
    return EXIT.ok
  }

  /** Resolves with the failure that ended the tap, or with `undefined` after the command was stopped. */
  async #listen(interfaceIndex: number): Promise<Failure | undefined> {
    let failed: Failure | undefined
    const tap = this.#host.openTap({
      interfaceIndex,
      interfaceName: this.#interfaceName,
      onFrame: (frame, _outgoing, at) => this.#take(frame, at === 0 ? Date.now() : at),
      onFailure: (failure) => {
        failed = failure
        this.#wake()
      },
    })
    if ('code' in tap) return tap
    this.#listening()
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    tap.close()
    return failed
  }

  #listening(): void {
    writeError(`listening on "${this.#interfaceName}"`)
    if (!this.#headed && !this.#options.json) this.#print(this.#table.heading())
    this.#headed = true
  }

  #indexIfUp(): number | undefined {
    return this.#host.look().find(({ name, up }) => name === this.#interfaceName && up)?.index
  }

  #take(frame: Uint8Array, at: number): void {
    const sighting = this.#stopped ? undefined : sightingOf(frame)
    if (sighting === undefined) return
    if (this.#file !== undefined) writeSync(this.#file, pcapRecord(frame, at))
    const seen = { sighting, interfaceName: this.#interfaceName, at }
    for (const line of this.#options.json ? [formatJson(seen)] : this.#table.lines(seen)) this.#print(line)
    this.#lines++
    if (this.#lines === this.#options.count) this.#stop()
  }

  #print(line: string): void {
    process.stdout.write(`${line}\n`)
  }

  #stop(): void {
    this.#stopped = true
    this.#wake()
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LOOK_AGAIN)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
