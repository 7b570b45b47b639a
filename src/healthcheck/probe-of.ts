/**
 * Makes the probe for the specification of a check. If that is impossible, the returned probe reports the reason in
 * each run.
 */
import { messageOf } from '../base/message-of.ts'
import type { ProbeSpec } from './check.ts'
import type { OpenStream } from './connection/stream.ts'
import { impossibleProbe, type Probe, type WatchEnd } from './probe.ts'
import { execProbe } from './probes/exec.ts'
import { fileProbe } from './probes/file.ts'
import { httpProbe } from './probes/http.ts'
import { processProbe } from './probes/process.ts'
import { tcpProbe } from './probes/tcp.ts'
import type { Launch } from './programs/launched-programs.ts'

/** Functions of the operating system that Node does not have. */
export type ProbePorts = {
  readonly launch: Launch
  readonly watchEnd: WatchEnd
  /** Function that opens a stream. `undefined`: Node's sockets are used. */
  readonly openStream?: OpenStream | undefined
}

export function probeOf(spec: ProbeSpec, { launch, openStream, watchEnd }: ProbePorts): Probe {
  try {
    switch (spec.kind) {
      case 'http':
        return httpProbe(spec, { openStream })
      case 'tcp':
        return tcpProbe(spec)
      case 'exec':
        return execProbe(spec, launch)
      case 'file':
        return fileProbe(spec)
      case 'process':
        return processProbe(spec, watchEnd)
    }
  } catch (error) {
    // A URL or pattern can hardly be invalid: the configuration has refused invalid values, with their position.
    return impossibleProbe('notPossible', messageOf(error))
  }
}
