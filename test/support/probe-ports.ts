/**
 * Provides the operating system's functions to probes in tests without an engine. The programs that probes start are
 * children of the test process.
 */
import { Socket } from 'node:net'
import type { ProbePorts } from '../../src/healthcheck/probe-of.ts'
import { loadNative } from '../../src/linux/native.ts'
import { closeChannel, startLauncher } from '../../src/linux/process/launcher.ts'
import { watchProcessEnd } from '../../src/linux/process/process-end.ts'
import { Launchers } from '../../src/worker/launchers.ts'

const native = loadNative()

export const probePorts: ProbePorts = {
  watchEnd: (pid, onEnd) => watchProcessEnd(native, pid, onEnd),
  launch: async (programs) => {
    const [ours, theirs] = native.streamPair()
    const stream = new Socket({ fd: ours, readable: true, writable: true })
    const launchers = new Launchers({ start: startLauncher, closeChannel })
    launchers.permit('healthchecks', [programs])
    return (await launchers.launch(programs, theirs)) ?? stream
  },
}
