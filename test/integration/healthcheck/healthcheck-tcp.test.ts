import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isConnectedToItself } from '../../../src/healthcheck/connection/connection.ts'
import { tcpProbe } from '../../../src/healthcheck/probes/tcp.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { ask, tcpSpec } from '../../support/check-spec.ts'
import { closeServersAfterEach, serveTcp } from '../../support/loopback-server.ts'

closeServersAfterEach()

describe('a tcp check', () => {
  test('is up if the port accepts, and the connection is closed', async () => {
    const server = await serveTcp()
    expect(await ask(tcpProbe(tcpSpec(server.port)))).toMatchObject({ outcome: 'ok', detail: 'connected' })
    await eventually('no connection', () => server.open().length === 0, {
      sight: () => server.open().length,
      within: 1_000,
    })
  })

  test('is down if no process listens on the port', async () => {
    const server = await serveTcp()
    await server.stop()
    expect(await ask(tcpProbe(tcpSpec(server.port)))).toMatchObject({ outcome: 'fail', reason: 'connectionRefused' })
  })

  test('sends its text, and accepts the wanted answer in pieces', async () => {
    const server = await serveTcp((socket) =>
      socket.on('data', (data) => {
        if (!data.toString().includes('PING')) return
        socket.write('+PO')
        setTimeout(() => socket.write('NG\r\n'), 20)
      }),
    )
    const expecting = { send: 'PING\r\n', expect: { kind: 'contains', text: '+PONG' } } as const
    expect((await ask(tcpProbe(tcpSpec(server.port, expecting)))).reason).toBe('ok')
  })

  test('sends its text even if no answer is wanted', async () => {
    let received = ''
    const server = await serveTcp((socket) => {
      socket.on('data', (data) => {
        received += data
      })
    })
    await ask(tcpProbe(tcpSpec(server.port, { send: 'QUIT\r\n' })))
    await eventually('QUIT', () => received === 'QUIT\r\n', { sight: () => received, within: 1_000 })
  })

  test.each([
    ['another answer, and the end', 'contentMissing', (socket: { end(text: string): void }) => socket.end('-ERR\r\n')],
    [
      'more than is read',
      'contentMissing',
      (socket: { write(text: string): void }) => socket.write('x'.repeat(100_000)),
    ],
    ['nothing', 'timeout', () => {}],
  ] as const)('%s: %s', async (_, reason, greet) => {
    const server = await serveTcp((socket) => greet(socket))
    const wanted = { expect: { kind: 'contains', text: '+PONG' } } as const
    expect(await ask(tcpProbe(tcpSpec(server.port, wanted)), 150)).toMatchObject({ outcome: 'fail', reason })
  })

  test('does not take a socket that is connected to itself for a service', async () => {
    // A client gets a port of the ephemeral range. If the test asks for that port by number, the connection to itself
    // is certain.
    const server = await serveTcp()
    await server.stop()
    const socket = connect({ host: '127.0.0.1', port: server.port, localPort: server.port, localAddress: '127.0.0.1' })
    await once(socket, 'connect')
    try {
      expect(isConnectedToItself(socket)).toBe(true)
    } finally {
      socket.destroy()
    }
    const listening = await serveTcp()
    const other = connect({ host: '127.0.0.1', port: listening.port })
    await once(other, 'connect')
    expect(isConnectedToItself(other)).toBe(false)
    other.destroy()
  })
})
