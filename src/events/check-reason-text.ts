/** Texts for the reasons why a run of a health check, or of a notify program, has its result. PURE. */

/**
 * Texts for the reasons of results: the log, `holdfast status` and the status page print them. The status page has a
 * generated copy (src/http/page/reasons.js).
 */
export const RESULTS = {
  ok: 'ok',
  timeout: 'no result in time',
  nameNotFound: 'name does not exist',
  nameUnanswered: 'no answer of the resolver',
  connectionRefused: 'connection refused',
  connectionReset: 'connection reset',
  connectFailed: 'no connection',
  tlsFailed: 'TLS handshake failed',
  certificateRefused: 'certificate not accepted',
  badAnswer: 'unusable answer',
  status: 'unexpected HTTP status',
  contentMissing: 'expected content is missing',
  tooManyRedirects: 'too many redirects',
  exitStatus: 'exit status is not 0',
  killedBySignal: 'ended by a signal',
  notRunnable: 'program cannot be run',
  scriptUnsafe: 'other users can change the program',
  userNotPermitted: 'cannot run as this user',
  missing: 'not there',
  unreadable: 'cannot be read',
  notANumber: 'content is not a number',
  notPossible: 'check could not run',
} as const satisfies Readonly<Record<string, string>>

/** Returns the text for the reason of a result. Returns a code of a later version unchanged. */
export const probeReasonText = (reason: string): string =>
  Object.entries(RESULTS).find(([code]) => code === reason)?.[1] ?? reason
