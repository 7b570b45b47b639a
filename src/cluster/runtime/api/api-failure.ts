/**
 * Reasons why the API of the cluster gave no usable answer: one of a few kinds, which are log fields and metric labels.
 * This file decides the kind of a Node error and of an HTTP status.
 */

export const FAILURE_KINDS = [
  /** The kubeconfig or the token cannot be read. */
  'credentials',
  'unreachable',
  'tls',
  'timeout',
  'unauthorized',
  'forbidden',
  /** 410: the API no longer has the version that the watch started from. */
  'gone',
  'rateLimited',
  'serverError',
  /** The API answered with another HTTP status than those above. */
  'refused',
  /** The answer has another format than requested. */
  'garbage',
  /** A stream of the API ended too early, or in the middle of a line. */
  'cut',
  /** A stream of the API sent nothing for too long. */
  'silent',
] as const
export type FailureKind = (typeof FAILURE_KINDS)[number]

export class ApiFailure extends Error {
  readonly kind: FailureKind
  /** Milliseconds in which no further request should be sent to the API; `undefined` if the server named no time. */
  readonly retryAfter: number | undefined
  /** HTTP status of the answer; `undefined` if no answer arrived. */
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
  // The token has characters that an HTTP header cannot have.
  ERR_INVALID_CHAR: 'credentials',
  ECONNRESET: 'cut',
  EPIPE: 'cut',
  EPROTO: 'tls',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls',
  // Error of Node's HTTP parser: the server uses another protocol.
  HPE_INVALID_CONSTANT: 'garbage',
  HPE_HEADER_OVERFLOW: 'garbage',
}

/** Returns the failure for an error of Node's network modules. */
export function failureOf(error: unknown, what: string): ApiFailure {
  if (error instanceof ApiFailure) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isTls = /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|HOSTNAME_MISMATCH)/.test(code)
  const kind = BY_CODE[code] ?? (isTls ? 'tls' : code.startsWith('HPE_') ? 'garbage' : 'unreachable')
  const why = error instanceof Error ? error.message || code : String(error)
  return new ApiFailure(kind, `Cannot ${what}: ${why}`, { cause: error })
}

/**
 * Returns the message of a failure without the query of its request. The query of a watch differs in each attempt, and each
 * other text of a condition would be written to the API.
 */
export const withoutQuery = (message: string): string => message.replace(/\?\S*(?=: )/, '')
