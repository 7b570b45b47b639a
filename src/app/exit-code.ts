/** Exit statuses of `holdfast`. */
export const EXIT = {
  ok: 0,
  failure: 1,
  /**
   * Exit status of `holdfast doctor` if the worst finding is a warning, and of `holdfast upgrade` if the new engine runs
   * without an address of the old one. `errors`: the worst finding of the doctor is an error.
   */
  warnings: 2,
  errors: 3,
  usage: 64,
  unreachable: 69,
  /** The program of `holdfast upgrade` failed its dry run; the running engine goes on. */
  rehearsal: 70,
  privilege: 77,
  configuration: 78,
} as const
