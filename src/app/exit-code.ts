/** What `holdfast` says to whoever started it. */
export const EXIT = {
  ok: 0,
  failure: 1,
  /** Of `holdfast doctor`: something will surprise, something does not work. */
  warnings: 2,
  errors: 3,
  usage: 64,
  unreachable: 69,
  privilege: 77,
  configuration: 78,
} as const
