/**
 * Why the API of the cluster gave no answer that can be used: one of a few kinds, which are log fields and metric labels.
 * Decided here: which kind an error of Node's or an HTTP status is. Refuses to know what is done about it.
 */

export const FAILURE_KINDS = [
  /** The kubeconfig or the token cannot be read. */
  'credentials',
  'unreachable',
  'tls',
  'timeout',
  'unauthorized',
  'forbidden',
  /** 410: the version that was asked from is forgotten. */
  'gone',
  'rateLimited',
  'serverError',
  /** Another status. */
  'refused',
  /** An answer that is not what was asked for. */
  'garbage',
  /** A stream that ended before its time, or in the middle of a line. */
  'cut',
  /** A stream on which nothing has come for too long. */
  'silent',
] as const
export type FailureKind = (typeof FAILURE_KINDS)[number]

export class ApiFailure extends Error {
  readonly kind: FailureKind
  /** Milliseconds for which nothing is to be asked again. */
  readonly retryAfter: number | undefined
  /** Of HTTP; undefined: there was no answer. */
  readonly status: number | undefined

  constructor(
    kind: FailureKind,
    message: string,
    { cause, retryAfter, status }: { cause?: unknown; retryAfter?: number; status?: number } = {},
  ) {
    super(message, { cause })
    this.name = 'ApiFailure'
    this.kind = kind
    this.retryAfter = retryAfter
    this.status = status
  }
}

const BY_STATUS: Readonly<Record<number, FailureKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  408: 'timeout',
  410: 'gone',
  429: 'rateLimited',
  504: 'timeout',
}

export const kindOfStatus = (status: number): FailureKind =>
  BY_STATUS[status] ?? (status >= 500 ? 'serverError' : 'refused')

const BY_CODE: Readonly<Record<string, FailureKind>> = {
  ETIMEDOUT: 'timeout',
  // A token that no header can have.
  ERR_INVALID_CHAR: 'credentials',
  ECONNRESET: 'cut',
  EPIPE: 'cut',
  EPROTO: 'tls',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls',
  // Of node's HTTP parser: whoever listens there speaks something else.
  HPE_INVALID_CONSTANT: 'garbage',
  HPE_HEADER_OVERFLOW: 'garbage',
}

/** Of an error of Node's network modules. */
export function failureOf(error: unknown, what: string): ApiFailure {
  if (error instanceof ApiFailure) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isTls = /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|HOSTNAME_MISMATCH)/.test(code)
  const kind = BY_CODE[code] ?? (isTls ? 'tls' : code.startsWith('HPE_') ? 'garbage' : 'unreachable')
  const why = error instanceof Error ? error.message || code : String(error)
  return new ApiFailure(kind, `Cannot ${what}: ${why}`, { cause: error })
}
