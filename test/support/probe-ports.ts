/** What probes need of the system, without the engine in between: launchers are children of the test. */
import { Socket } from 'node:net'
import { Launchers } from '../../src/api/launchers.ts'
import type { ProbePorts } from '../../src/healthcheck/probe-of.ts'
import { closeChannel, startLauncher } from '../../src/linux/launcher.ts'
import { loadNative } from '../../src/linux/native.ts'
import { watchProcessEnd } from '../../src/linux/process-end.ts'

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
