/** Exit statuses of `holdfast`. */
export const EXIT = {
  ok: 0,
  failure: 1,
  /** Exit status of `holdfast doctor` if the worst finding is a warning. `errors`: the worst finding is an error. */
  warnings: 2,
  errors: 3,
  usage: 64,
  unreachable: 69,
  /** The program of `holdfast upgrade` failed its dry run; the running engine goes on. */
  rehearsal: 70,
  privilege: 77,
  configuration: 78,
} as const
