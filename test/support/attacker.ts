/**
 * Controls an attacker on one host of the lab: it sends forged frames once, at a rate, or until stop() is called. This
 * file decides the messages to the attacker's process. This file does not know what the frames contain
 * (forged-frame.ts) and what they cause.
 */
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import { JsonProcess } from '../../src/lab/json-process.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import { monotonicMs } from '../../src/lab/wait.ts'
import { toHex } from './hex.ts'

export type Onslaught = { readonly at: number; readonly sent: number; readonly failed: number; readonly ms: number }

export class Attacker {
  readonly host: Host
  readonly #process: JsonProcess
  #attacks = 0

  constructor(lab: Lab, host: Host, link = 'eth0') {
    this.host = host
    const program = join(packageRoot(), 'test', 'support', 'attacker.mjs')
    this.#process = new JsonProcess(lab, host, [process.execPath, program, link])
  }

  async ready(): Promise<void> {
    await this.#process.line('ready', ({ id }) => id === undefined)
  }

  /** Sends `count` frames, taken in turn from the list. Resolves when the frames are sent. */
  async send(frames: readonly Uint8Array[], count = frames.length, perSecond = 0): Promise<Onslaught> {
    const at = monotonicMs()
    const { end } = this.keepSending(frames, perSecond, count)
    return { ...(await end(60_000)), at }
  }

  /** Sends frames until stop() is called. stop() resolves with the number of sent frames. */
  keepSending(frames: readonly Uint8Array[], perSecond: number, count = 0) {
    const at = monotonicMs()
    this.#attacks += 1
    const id = this.#attacks
    this.#process.tell({ id, frames: frames.map(toHex), count, perSecond })
    const end = async (within: number): Promise<Onslaught> => {
      const over = `the end of the attack from ${this.host.name}`
      const report = await this.#process.line(over, (line) => line.id === id, within)
      const figure = (name: string) => Number(report[name] ?? 0)
      return { at, sent: figure('sent'), failed: figure('failed'), ms: figure('ms') }
    }
    const stop = (): Promise<Onslaught> => {
      this.#process.tell({ stop: id })
      return end(20_000)
    }
    return { at, stop, end }
  }
}
