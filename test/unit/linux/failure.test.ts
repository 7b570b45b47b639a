import { describe, expect, test } from 'vitest'
import { ERRNO, failureFrom, failureOf } from '../../../src/linux/failure.ts'

describe('an errno has one message and one answer to a retry', () => {
  test.each([
    ['EPERM', 'socket', 'CAP_NET_RAW is missing', false],
    ['EPERM', 'RTM_NEWADDR', 'CAP_NET_ADMIN is missing', false],
    ['EPERM', 'sendmmsg', 'refused by a packet filter', true],
    ['EACCES', 'RTM_NEWADDR', 'IPv6 is disabled on the interface', false],
    ['ENETDOWN', 'sendmmsg', 'interface is down', true],
    ['ENODEV', 'setsockopt', 'interface does not exist', true],
    ['ENXIO', 'sendmmsg', 'interface does not exist', true],
    ['EADDRNOTAVAIL', 'bind', 'the source address is not on this node', true],
    ['EINVAL', 'sendmmsg', 'the source address is not on this node', true],
    ['EINVAL', 'setsockopt', 'invalid argument', false],
    ['ENETUNREACH', 'sendmmsg', 'network is unreachable', true],
    ['EHOSTUNREACH', 'sendmmsg', 'host is unreachable', true],
    ['ENOBUFS', 'sendmmsg', 'the queue is full', true],
    ['EMSGSIZE', 'sendmmsg', 'message too long', false],
    ['EAFNOSUPPORT', 'socket', 'address family not supported', false],
    ['ETIMEDOUT', 'RTM_DELADDR', 'the kernel did not answer', true],
  ] as const)('%s of %s: %s, retryable %s', (code, syscall, reason, retryable) => {
    const expected = { code, syscall, message: `Cannot move: ${reason}`, retryable }
    expect(failureOf(ERRNO[code], { action: 'move', syscall })).toEqual(expected)
    expect(failureOf(-ERRNO[code], { action: 'move', syscall })).toEqual(expected)
  })

  test('an errno without a name in this Node still becomes a Failure', () => {
    expect(failureOf(4095, { action: 'move', syscall: 'bind' }).code).toBe('E4095')
  })
})

describe('an error of a set-up call', () => {
  test('a failed system call becomes a Failure', () => {
    const error = Object.assign(new Error('bind'), { code: 'ENODEV', errno: -ERRNO.ENODEV, syscall: 'bind' })
    expect(failureFrom(error, 'listen')).toMatchObject({
      code: 'ENODEV',
      message: 'Cannot listen: interface does not exist',
    })
  })

  test('another error is thrown again', () => {
    expect(() => failureFrom(new TypeError('expected a Uint8Array'), 'listen')).toThrow('expected a Uint8Array')
  })
})
