/**
 * Converts the errors of a probe (Node's error codes) to reasons with a text for people. This file decides the reason
 * of each error. `failed-probe.ts` does not know sockets, or how a reason counts for a router.
 */
import { messageOf } from '../base/message-of.ts'
import type { Reason } from './probe-result.ts'

/** Error that a probe throws and catches itself when the result of the run is known. */
export class FailedProbe extends Error {
  readonly reason: Reason
  /** `unknown`: the failure is on this node, and shows nothing about the target of the check. */
  readonly outcome: 'fail' | 'unknown'

  constructor(reason: Reason, detail: string) {
    super(detail)
    this.name = 'FailedProbe'
    this.reason = reason
    this.outcome = reason === 'unreadable' || reason === 'notPossible' ? 'unknown' : 'fail'
  }
}

/** Error at the deadline of a run. `during` is the step of the probe that had not ended. */
export class DeadlinePassed extends FailedProbe {
  constructor(during: string) {
    super('timeout', `No result within the timeout: ${during}`)
    this.name = 'DeadlinePassed'
  }
}

const REASONS: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: 'connectionRefused',
  ECONNRESET: 'connectionReset',
  EPIPE: 'connectionReset',
  ENOTFOUND: 'nameNotFound',
  EAI_AGAIN: 'nameUnanswered',
  EPROTO: 'tlsFailed',
  // The unix socket does not exist, or no process listens on it.
  ENOENT: 'connectionRefused',
}

/** Error codes that mean a lack on this node: descriptors, ports, memory, permissions. */
const OURS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN', 'EADDRNOTAVAIL', 'EACCES', 'EPERM'])

/** Error codes of OpenSSL for an invalid certificate, which Node passes on. */
const CERTIFICATE =
  /^(CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_CA$|INVALID_PURPOSE$|HOSTNAME_MISMATCH$|PATH_LENGTH_|ERR_TLS_CERT_)/

/** Tells whether an error code means that a resource of this node is exhausted. Used for starting processes. */
export const isOurs = (code: string): boolean => OURS.has(code) && code !== 'EACCES' && code !== 'EPERM'

export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return ''
}

export function asFailedProbe(error: unknown): FailedProbe {
  if (error instanceof FailedProbe) return error
  // The host has several addresses, and the connection to each failed. The error of the last attempt counts.
  if (error instanceof AggregateError && error.errors.length > 0) return asFailedProbe(error.errors.at(-1))
  const code = codeOf(error)
  if (CERTIFICATE.test(code)) return new FailedProbe('certificateRefused', `Certificate refused: ${messageOf(error)}`)
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) {
    return new FailedProbe('tlsFailed', `TLS handshake failed: ${messageOf(error)}`)
  }
  if (code.startsWith('HPE_')) return new FailedProbe('badAnswer', `Not an HTTP answer: ${messageOf(error)}`)
  return new FailedProbe(OURS.has(code) ? 'notPossible' : (REASONS[code] ?? 'connectFailed'), messageOf(error))
}
