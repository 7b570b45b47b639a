/**
 * The package raw-socket replaced by an object: the errno of its texts, a socket that survives an error event, and a
 * closed one that is not opened again. test/netns/raw-socket.test.ts uses a real kernel.
 */
import { constants } from 'node:os'
import { describe, expect, test } from 'vitest'
import { failureFrom } from '../../../src/linux/failure.ts'
import { whyUnavailable } from '../../../src/linux/optional-package.ts'
import { ipPacket } from '../../../src/linux/sockets/ip-packet.ts'
import { openPackageSocket, type RawSocketPackage, systemError } from '../../../src/linux/sockets/raw-socket-package.ts'
import { address } from '../../../src/wire/address.ts'
import { toHex } from '../../support/hex.ts'

const { errno } = constants

type Binding = ReturnType<RawSocketPackage['createSocket']>['wrap']

/** Returns a binding with this behaviour that records its calls. */
function fake(behaviour: Partial<Binding> = {}) {
  const asked: string[] = []
  const listeners = new Map<string, () => void>()
  const wrap: Binding = {
    setOption: (level, name) => void asked.push(`setOption ${level} ${name}`),
    getOption: (_level, _name, value) => {
      new DataView(value.buffer).setUint32(value.length - 4, 7, true)
      return value.length
    },
    recv: () => void asked.push('recv'),
    send: (_bytes, _offset, _length, to) => void asked.push(`send ${to}`),
    pause: (receiving, sending) => void asked.push(`pause ${receiving} ${sending}`),
    on: (event, listener) => void listeners.set(event, listener),
    removeAllListeners: () => listeners.clear(),
    close: () => void asked.push('close'),
    ...behaviour,
  }
  return { asked, listeners, socket: openPackageSocket({ createSocket: () => ({ wrap }) }, 1, 112) }
}

const throws = (text: string) => () => {
  throw new Error(text)
}
const immediately = () => new Promise<void>((resolve) => void setImmediate(resolve))

describe('texts of strerror', () => {
  test.each([
    ['Resource temporarily unavailable', 'EAGAIN'],
    ['Network is unreachable', 'ENETUNREACH'],
    ['Network unreachable', 'ENETUNREACH'],
    ['No such device', 'ENODEV'],
    ['Cannot assign requested address', 'EADDRNOTAVAIL'],
    ['Address not available', 'EADDRNOTAVAIL'],
    ['No buffer space available', 'ENOBUFS'],
    ['Operation not permitted', 'EPERM'],
    ['Something that no libc has said so far', 'EIO'],
  ] as const)('%s is %s', (text, code) => {
    expect(systemError(new Error(text), 'sendto')).toMatchObject({ code, errno: -errno[code], syscall: 'sendto' })
    expect(fake({ send: throws(text) }).socket.send(Uint8Array.of(1), '192.0.2.1')).toBe(-errno[code])
    expect(fake({ recv: throws(text) }).socket.receive(new Uint8Array(1))).toBe(-errno[code])
  })

  test('a failed set-up call names the system call', () => {
    const { socket } = fake({ setOption: throws('No such device') })
    expect(() => socket.setOption(1, 25, new Uint8Array(1))).toThrow('setsockopt: No such device')
    const failure = failureFrom(systemError(new Error('Operation not permitted'), 'socket'), 'open a raw socket')
    expect(failure.message).toBe('Cannot open a raw socket: CAP_NET_RAW is missing')
  })

  test('a wrong argument is thrown again', () => {
    const wrong = () => {
      throw new TypeError('Length argument must be an unsigned integer')
    }
    expect(() => fake({ send: wrong }).socket.send(Uint8Array.of(1), 'x')).toThrow(TypeError)
  })
})

describe('a socket', () => {
  test('a socket reports waiting packets once a turn, and stays watched after an error', async () => {
    const { asked, listeners, socket } = fake()
    const told: string[] = []
    socket.start(
      () => told.push('readable'),
      (number) => told.push(`error ${number}`),
    )
    listeners.get('recvReady')?.()
    listeners.get('recvReady')?.()
    expect(told, 'not from inside the binding').toEqual([])
    await immediately()
    expect(told).toEqual(['readable'])
    listeners.get('error')?.()
    await immediately()
    expect(told).toEqual(['readable', 'error 7'])
    expect(asked).toEqual(['pause false true'])
  })

  test('a closed socket does not call the binding, which would open another one', async () => {
    const { asked, listeners, socket } = fake()
    let told = 0
    socket.start(
      () => told++,
      () => told++,
    )
    listeners.get('recvReady')?.()
    socket.close()
    socket.close()
    await immediately()
    expect([told, socket.receive(new Uint8Array(1)), socket.send(Uint8Array.of(1), '192.0.2.1')]).toEqual([
      0,
      -errno.EBADF,
      -errno.EBADF,
    ])
    expect(asked).toEqual(['close'])
  })

  test('drops are the count of the kernel, and a kernel without the count is no error', () => {
    expect(fake().socket.drops()).toBe(7)
    expect(fake({ getOption: throws('Protocol not available') }).socket.drops()).toBe(0)
  })
})

describe('whole packets', () => {
  const message = Uint8Array.of(0x31, 1, 2, 3)
  test('an IPv4 packet has TTL 255, CS6 and DF, and leaves the checksum to the kernel', () => {
    const [source, destination] = [address('192.0.2.1'), address('224.0.0.18')]
    const packet = ipPacket({ source, destination, protocol: 112, message })
    expect(toHex(packet)).toBe('45c00018' + '00004000' + 'ff700000' + 'c0000201' + 'e0000012' + '31010203')
  })

  test('an IPv6 packet has hop limit 255 and traffic class CS6', () => {
    const [source, destination] = [address('fe80::1'), address('ff02::12')]
    const packet = ipPacket({ source, destination, protocol: 112, message })
    const addresses = 'fe800000000000000000000000000001' + 'ff020000000000000000000000000012'
    expect(toHex(packet)).toBe(`6c000000${'000470ff'}${addresses}31010203`)
  })
})

describe('the message for a missing package', () => {
  const missing = (text: string) => Object.assign(new Error(text), { code: 'MODULE_NOT_FOUND' })
  test.each([
    [missing("Cannot find module 'raw-socket'\nRequire stack:"), 'is not installed: npm install raw-socket'],
    [missing("Cannot find module './build/Release/raw.node'"), 'is not built: npm rebuild raw-socket'],
    [new Error('libc.so.6: cannot open shared object file'), '(libc.so.6: cannot open shared object file)'],
  ])('%s', (error, text) => expect(whyUnavailable('raw-socket', 'a compiler', error)).toContain(text))
})
