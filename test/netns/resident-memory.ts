/** Reads the memory of a daemon's engine as the kernel reports it. This file does not know how much is too much. */
import { readFileSync } from 'node:fs'
import type { Holdfast } from '../../src/lab/daemons/holdfast.ts'

export function residentKilobytes(daemon: Holdfast): number {
  const [engine = daemon.process.pid] = daemon.process.children
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${engine}/status`, 'utf8'))?.[1])
}
