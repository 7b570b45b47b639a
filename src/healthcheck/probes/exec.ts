/**
 * Asks by running a program, which says by its exit status how things are. Everything about running it is
 * launched-programs.ts; each check has a launcher of its own. Refuses to know when it is asked.
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
