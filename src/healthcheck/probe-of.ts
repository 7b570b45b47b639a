/** From what is asked to who asks it. A specification that no probe can be made of becomes one that says why. */
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

/** What probes need of the system and Node does not have. */
export type ProbePorts = {
  readonly launch: Launch
  readonly watchEnd: WatchEnd
  /** Undefined: Node's sockets will do. */
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
    // URLs and patterns are the operator's; the configuration reports them with their place before they come here.
    return impossibleProbe('notPossible', messageOf(error))
  }
}
