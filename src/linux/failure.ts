/**
 * The meaning of an errno for holdfast: a Failure with a stable code, a sentence for people, and whether a retry may
 * help. Only this file decides which errors are fatal, and which capability is missing. Other files decide which caller
 * retries, and when.
 */
import { constants } from 'node:os'
import { getSystemErrorMap } from 'node:util'
import type { Failure } from '../daemon/ports.ts'

export const ERRNO = constants.errno

const CODES = new Map(Object.entries(ERRNO).map(([code, number]) => [number, code]))
// If two error names have one number, the documented name is used.
CODES.set(ERRNO.EAGAIN, 'EAGAIN')
CODES.set(ERRNO.EOPNOTSUPP, 'EOPNOTSUPP')

/**
 * `action` continues the sentence "Cannot …" and names its object. `syscall` is the system call, or the rtnetlink
 * request (RTM_…).
 */
export type Attempt = { readonly action: string; readonly syscall: string }

const isRequest = (syscall: string): boolean => syscall.startsWith('RTM_')
const isSend = (syscall: string): boolean => syscall === 'sendmmsg' || syscall === 'sendto'

function reasonOf(code: string, errno: number, syscall: string): string {
  // EPERM also means that a packet filter of this node refused our packet. No capability is missing in that case.
  if (code === 'EPERM' && isSend(syscall)) return 'refused by a packet filter'
  if (code === 'EPERM' || (code === 'EACCES' && syscall === 'socket')) {
    return `${isRequest(syscall) ? 'CAP_NET_ADMIN' : 'CAP_NET_RAW'} is missing`
  }
  if (code === 'EACCES' && isRequest(syscall)) return 'IPv6 is disabled on the interface'
  if (code === 'EINVAL' && isSend(syscall)) return 'the source address is not on this node'
  if (code === 'EADDRNOTAVAIL' && !isRequest(syscall)) return 'the source address is not on this node'
  if (code === 'ENETDOWN') return 'interface is down'
  if (code === 'ENODEV' || code === 'ENXIO') return 'interface does not exist'
  if (code === 'ENOBUFS') return 'the queue is full'
  if (code === 'ETIMEDOUT' && isRequest(syscall)) return 'the kernel did not answer'
  return getSystemErrorMap().get(-errno)?.[1] ?? code
}

/**
 * Errors that a retry does not change: a missing privilege, a wrong argument of ours, a feature that the kernel lacks.
 */
const FATAL = new Set([
  'EPERM',
  'EACCES',
  'EINVAL',
  'EBADF',
  'EFAULT',
  'ENOTSOCK',
  'ENOSYS',
  'EAFNOSUPPORT',
  'EPROTONOSUPPORT',
  'ESOCKTNOSUPPORT',
  'ENOPROTOOPT',
  'EOPNOTSUPP',
])

function isRetryable(code: string, syscall: string): boolean {
  if (code === 'EMSGSIZE') return false
  // A send can succeed later while the socket stays open: a filter rule may be removed, or a lost source address may
  // come back.
  if (isSend(syscall) && (code === 'EPERM' || code === 'EINVAL')) return true
  return !FATAL.has(code)
}

/**
 * Returns the failure for an errno of either sign: Node's errors have negative numbers, the kernel's messages positive
 * ones.
 */
export function failureOf(errno: number, { action, syscall }: Attempt): Failure {
  const number = Math.abs(errno)
  const code = CODES.get(number) ?? `E${number}`
  const message = `Cannot ${action}: ${reasonOf(code, number, syscall)}`
  return { code, syscall, message, retryable: isRetryable(code, syscall) }
}

/**
 * Returns the Failure for an error that a set-up call of the addon threw. Any other error is a defect of holdfast and
 * is thrown again.
 */
export function failureFrom(error: unknown, action: string): Failure {
  if (!(error instanceof Error) || !('errno' in error) || !('syscall' in error)) throw error
  const { errno, syscall } = error
  if (typeof errno !== 'number' || typeof syscall !== 'string') throw error
  return failureOf(errno, { action, syscall })
}
