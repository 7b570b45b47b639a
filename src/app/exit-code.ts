/** Exit statuses of `holdfast`. */
export const EXIT = {
  ok: 0,
  failure: 1,
  /** Exit statuses of `holdfast doctor`. */
  warnings: 2,
  errors: 3,
  usage: 64,
  unreachable: 69,
  privilege: 77,
  configuration: 78,
} as const
