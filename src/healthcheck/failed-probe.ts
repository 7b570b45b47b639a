/**
 * One classifier for what the world throws at a probe: Node's error codes to our reasons, with a sentence for people.
 * Decided here: which reason an error has. Refuses to know sockets, and whether a reason is the target's fault in the
 * eyes of a router.
 */
import { messageOf } from '../base/message-of.ts'
import type { Reason } from './probe-result.ts'

/** Thrown inside a probe and caught by it: the run's result is already known. */
export class FailedProbe extends Error {
  readonly reason: Reason
  /** `unknown`: what failed is on our side, and says nothing about the target. */
  readonly outcome: 'fail' | 'unknown'

  constructor(reason: Reason, detail: string) {
    super(detail)
    this.name = 'FailedProbe'
    this.reason = reason
    this.outcome = reason === 'unreadable' || reason === 'notPossible' ? 'unknown' : 'fail'
  }
}

/** What the deadline says; what was under way when it struck is added by whoever knows. */
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
  // A unix socket that is not there, or that nobody listens on.
  ENOENT: 'connectionRefused',
}

/** Descriptors, ports, memory, permission: we could not ask. */
const OURS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN', 'EADDRNOTAVAIL', 'EACCES', 'EPERM'])

/** OpenSSL's verdicts on a certificate that Node passes on as codes. */
const CERTIFICATE =
  /^(CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_CA$|INVALID_PURPOSE$|HOSTNAME_MISMATCH$|PATH_LENGTH_|ERR_TLS_CERT_)/

/** Running out of something of our own, for those who start processes. */
export const isOurs = (code: string): boolean => OURS.has(code) && code !== 'EACCES' && code !== 'EPERM'

export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return ''
}

export function asFailedProbe(error: unknown): FailedProbe {
  if (error instanceof FailedProbe) return error
  // Happy eyeballs: each address has failed in a way of its own; the last attempt is the one that decided.
  if (error instanceof AggregateError && error.errors.length > 0) return asFailedProbe(error.errors.at(-1))
  const code = codeOf(error)
  if (CERTIFICATE.test(code)) return new FailedProbe('certificateRefused', `Certificate refused: ${messageOf(error)}`)
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) {
    return new FailedProbe('tlsFailed', `TLS handshake failed: ${messageOf(error)}`)
  }
  if (code.startsWith('HPE_')) return new FailedProbe('badAnswer', `Not a HTTP answer: ${messageOf(error)}`)
  return new FailedProbe(OURS.has(code) ? 'notPossible' : (REASONS[code] ?? 'connectFailed'), messageOf(error))
}
