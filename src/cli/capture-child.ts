/**
 * The process in which the package `cap` lives. It is one of its own because cap aborts the whole process when its
 * interface goes down (an assertion in C++ that nothing can catch): never load it in the engine, nor in the command
 * that the operator looks at. Decides the filter; what a frame means and what the end of this process means is the
 * parent's. Ends when the parent is gone.
 */
import { createRequire } from 'node:module'
import { openClock } from '../linux/clock.ts'
import { loadNative } from '../linux/native.ts'
import { whyUnavailable } from '../linux/optional-package.ts'
import { encodeMessage } from './capture-message.ts'
import { SNAP_LENGTH } from './pcap-file.ts'

/** `cap` 0.2 as far as it is used. open() returns the link type. */
type Cap = {
  open(device: string, filter: string, bufferSize: number, buffer: Buffer): string
  on(event: 'packet', listener: (octets: number, truncated: boolean) => void): void
}
type CapPackage = { readonly Cap: new () => Cap }

/** VRRP of both families and versions, ARP, and Neighbor Advertisements without extension headers. */
const FILTER = 'ip proto 112 or ip6 proto 112 or arp or (icmp6 and ip6[40] == 136)'
const BUFFER = 4 * 1024 * 1024
export const CAPTURE_NEEDS = "python3, make, a C++ compiler and libpcap's headers"

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function loadCap(): CapPackage | string {
  try {
    const require = createRequire(import.meta.url)
    const loaded: CapPackage = require('cap')
    return loaded
  } catch (error) {
    return whyUnavailable('cap', CAPTURE_NEEDS, error)
  }
}

/** Returns the exit status; resolves when the parent has closed our standard input. */
export async function captureChild(device: string): Promise<number> {
  const { stdin, stdout } = process
  const say = (message: Parameters<typeof encodeMessage>[0]): boolean => stdout.write(encodeMessage(message))
  const fail = async (why: string): Promise<number> => {
    await new Promise<void>((resolve) => {
      stdout.write(encodeMessage({ kind: 'failed', why }), () => resolve())
    })
    return 1
  }
  // The terminal's Ctrl-C is for the parent.
  process.on('SIGINT', () => {})
  stdout.on('error', () => process.exit(1))
  const parentGone = new Promise<void>((resolve) => {
    stdin.on('end', () => resolve())
    stdin.on('error', () => resolve())
  })
  stdin.resume()

  const loaded = loadCap()
  if (typeof loaded === 'string') return fail(loaded)
  const buffer = Buffer.alloc(SNAP_LENGTH)
  try {
    const capture = new loaded.Cap()
    const linkType = capture.open(device, FILTER, BUFFER, buffer)
    if (linkType !== 'ETHERNET') return fail(`its link type is ${linkType}, Ethernet is wanted`)
    // cap gives no time; a frame is read within a millisecond on a machine that is not overloaded.
    const clock = openClock(loadNative())
    capture.on('packet', (octets) => {
      say({ kind: 'frame', at: clock.pair().realtime, frame: Uint8Array.from(buffer.subarray(0, octets)) })
    })
  } catch (error) {
    return fail(textOf(error))
  }
  say({ kind: 'listening' })
  await parentGone
  return 0
}
