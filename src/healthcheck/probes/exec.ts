/**
 * Probe that runs a program. The exit status of the program is the result. `launched-programs.ts` runs the program, and
 * each check has its own launcher.
 */
import type { ExecSpec } from '../check.ts'
import type { Probe } from '../probe.ts'
import { type Launch, LaunchedPrograms } from '../programs/launched-programs.ts'
import { programSetOf } from '../programs/program-set.ts'

export function execProbe(spec: ExecSpec, launch: Launch): Probe {
  const program = new LaunchedPrograms(programSetOf(spec), launch)
  return {
    prepare: () => program.prepare(),
    start: (signal) => program.start(signal),
    events: undefined,
    close: () => program.close(),
  }
}
