/**
 * Probe that runs a program, whose exit status is the result. launched-programs.ts runs it; each check has its own
 * launcher.
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
