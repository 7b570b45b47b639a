/**
 * `holdfast capture`: VRRP, ARP and Neighbor Advertisements of one interface as lines, for whoever wants to know who
 * speaks on this LAN and why nobody listens. Decides what is printed and written, and that an interface that goes down
 * is waited for. Works beside a daemon or without one, and never in its process.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { missingCapabilities } from './capability.ts'
import { sightingOf } from './capture-decode.ts'
import type { CaptureInterface } from './capture-interface.ts'
import { CAPTURE_HEADING, formatJson, formatLine } from './capture-line.ts'
import { type CaptureProcess, startCapture } from './capture-process.ts'
import { EXIT } from './exit-code.ts'
import { pcapHeader, pcapRecord } from './pcap-file.ts'

export type CaptureOptions = {
  readonly interfaceName: string | undefined
  readonly json: boolean
  /** pcap file. */
  readonly write: string | undefined
  /** Lines; undefined = until SIGINT. */
  readonly count: number | undefined
}

/** How often a missing interface is looked for. */
const LOOK_AGAIN = 200
/** An interface that is up and aborts every child is broken in a way that waiting does not cure. */
const MOST_ABORTS = 5
const LONG_LIFE = 2_000

const complain = (text: string): void => void process.stderr.write(`holdfast: ${text}\n`)

/** `look`: the interfaces of this network namespace now. Returns the exit status. */
export async function captureCommand(
  options: CaptureOptions,
  look: () => readonly CaptureInterface[],
): Promise<number> {
  if (missingCapabilities().includes('CAP_NET_RAW')) {
    complain('Cannot capture without CAP_NET_RAW: run it as root')
    return EXIT.privilege
  }
  const interfaceName = options.interfaceName ?? onlyOne(look())
  if (interfaceName === undefined) return EXIT.usage
  if (!look().some(({ name }) => name === interfaceName)) {
    complain(`Cannot capture on "${interfaceName}": interface does not exist`)
    return EXIT.failure
  }
  let file: number | undefined
  if (options.write !== undefined) {
    // Frames are written as they came, so a version 2 password is in there.
    try {
      file = openSync(options.write, 'w', 0o600)
      writeSync(file, pcapHeader())
    } catch (error) {
      complain(`Cannot write ${options.write}: ${error instanceof Error ? error.message : String(error)}`)
      return EXIT.failure
    }
  }
  try {
    return await new Session(interfaceName, options, look, file).run()
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

function onlyOne(interfaces: readonly CaptureInterface[]): string | undefined {
  const names = interfaces.filter(({ addressed, up }) => addressed && up).map(({ name }) => name)
  if (names.length === 1) return names[0]
  const found = names.length === 0 ? 'no interface is up and has an address' : `${names.join(', ')} have addresses`
  complain(`Cannot choose an interface: ${found}; name one with -i`)
  return undefined
}

class Session {
  readonly #interfaceName: string
  readonly #options: CaptureOptions
  readonly #look: () => readonly CaptureInterface[]
  readonly #file: number | undefined
  #child: CaptureProcess | undefined
  #stopped = false
  #headed = false
  #lines = 0
  #aborts = 0
  /** Ends a wait early. */
  #wake = (): void => {}

  constructor(
    interfaceName: string,
    options: CaptureOptions,
    look: () => readonly CaptureInterface[],
    file: number | undefined,
  ) {
    this.#interfaceName = interfaceName
    this.#options = options
    this.#look = look
    this.#file = file
  }

  async run(): Promise<number> {
    const stop = (): void => this.#stop()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop)
    // `| head` has seen enough.
    process.stdout.on('error', stop)
    while (!this.#stopped) {
      if (!this.#isUp()) {
        complain(`"${this.#interfaceName}" is down or gone: waiting for it`)
        while (!this.#stopped && !this.#isUp()) await this.#pause()
        continue
      }
      const startedAt = performance.now()
      this.#child = startCapture(this.#interfaceName, (message) => {
        if (message.kind === 'listening') this.#listening()
        else this.#take(message.frame, message.at)
      })
      const end = await this.#child.ended
      this.#child = undefined
      // It can go down between our look and libpcap's.
      if (end.kind === 'failed' && this.#isUp()) {
        complain(`Cannot capture on "${this.#interfaceName}": ${end.why}`)
        return EXIT.failure
      }
      this.#aborts = performance.now() - startedAt > LONG_LIFE ? 1 : this.#aborts + 1
      if (this.#aborts > MOST_ABORTS) {
        complain(`Cannot capture on "${this.#interfaceName}": libpcap gives up each time`)
        return EXIT.failure
      }
      if (end.kind !== 'stopped') await this.#pause()
    }
    if (this.#options.write !== undefined) complain(`${this.#lines} frames written to ${this.#options.write}`)
    return EXIT.ok
  }

  #listening(): void {
    complain(`listening on "${this.#interfaceName}"`)
    if (!this.#headed && !this.#options.json) this.#print(CAPTURE_HEADING)
    this.#headed = true
  }

  #isUp(): boolean {
    return this.#look().some(({ name, up }) => name === this.#interfaceName && up)
  }

  #take(frame: Uint8Array, at: number): void {
    const sighting = this.#stopped ? undefined : sightingOf(frame)
    if (sighting === undefined) return
    if (this.#file !== undefined) writeSync(this.#file, pcapRecord(frame, at))
    const seen = { sighting, interfaceName: this.#interfaceName, at }
    this.#print(this.#options.json ? formatJson(seen) : formatLine(seen))
    this.#lines++
    if (this.#lines === this.#options.count) this.#stop()
  }

  #print(line: string): void {
    process.stdout.write(`${line}\n`)
  }

  #stop(): void {
    this.#stopped = true
    this.#child?.stop()
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
