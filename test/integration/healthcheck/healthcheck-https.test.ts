import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { TlsSpec } from '../../../src/healthcheck/check.ts'
import { TlsClient } from '../../../src/healthcheck/connection/tls-client.ts'
import { httpProbe } from '../../../src/healthcheck/probes/http.ts'
import { sleep } from '../../../src/lab/wait.ts'
import { type Authority, type Certificate, createAuthority } from '../../support/certificates.ts'
import { ask, httpSpec } from '../../support/check-spec.ts'
import { closeServersAfterEach, serveHttps, serveTcp } from '../../support/loopback-server.ts'

closeServersAfterEach()

let authority: Authority
let leaf: Certificate

beforeAll(() => {
  authority = createAuthority()
  leaf = authority.issue('IP:127.0.0.1,DNS:api.example')
})
afterAll(() => authority.remove())

const tls = (changes: Partial<TlsSpec> = {}): { tls: TlsSpec } => ({
  tls: { verify: true, caFile: authority.caFile, serverName: undefined, ...changes },
})
const url = (port: number) => `https://127.0.0.1:${port}/readyz`

describe('the certificate of an https check', () => {
  test('is accepted from the authority in the configured file, for the address of the URL', async () => {
    const { port } = await serveHttps(leaf, (_request, response) => response.end())
    expect(await ask(httpProbe(httpSpec(url(port), tls())))).toMatchObject({ outcome: 'ok', detail: '200' })
  })

  test('is refused from an unknown authority, unless verification is off', async () => {
    const { port } = await serveHttps(leaf, (_request, response) => response.end())
    const { outcome, reason } = await ask(httpProbe(httpSpec(url(port), tls({ caFile: undefined }))))
    expect({ outcome, reason }).toEqual({ outcome: 'fail', reason: 'certificateRefused' })
    expect((await ask(httpProbe(httpSpec(url(port), tls({ caFile: undefined, verify: false }))))).reason).toBe('ok')
  })

  test('is refused for another name, and the wanted name is sent as SNI', async () => {
    const names: unknown[] = []
    const server = await serveHttps(leaf, (request, response) => {
      names.push('servername' in request.socket ? request.socket.servername : undefined)
      response.end()
    })
    const other = await ask(httpProbe(httpSpec(url(server.port), tls({ serverName: 'other.example' }))))
    expect(other.reason).toBe('certificateRefused')
    expect(other.detail).toContain('other.example')
    expect((await ask(httpProbe(httpSpec(url(server.port), tls({ serverName: 'api.example' }))))).reason).toBe('ok')
    expect((await ask(httpProbe(httpSpec(url(server.port), tls())))).reason).toBe('ok')
    expect(names, 'names that the server received as SNI; none for an address').toEqual(['api.example', false])
  })

  test('is refused after its end', async () => {
    const to = new Date(Date.now() - 60_000)
    const { port } = await serveHttps(authority.issue('IP:127.0.0.1', { to }), (_request, response) => response.end())
    const { reason, detail } = await ask(httpProbe(httpSpec(url(port), tls())))
    expect(reason).toBe('certificateRefused')
    expect(detail).toBe('Certificate refused: certificate has expired')
  })

  test('causes no failure of the server if the file of authorities cannot be read', async () => {
    const { port } = await serveHttps(leaf, (_request, response) => response.end())
    const { outcome, reason } = await ask(httpProbe(httpSpec(url(port), tls({ caFile: '/nonexistent/ca.pem' }))))
    expect({ outcome, reason }).toEqual({ outcome: 'unknown', reason: 'unreadable' })
    const broken = `${authority.caFile}.broken`
    writeFileSync(broken, 'no PEM at all')
    expect((await ask(httpProbe(httpSpec(url(port), tls({ caFile: broken }))))).reason).toBe('unreadable')
  })

  test('is missing if the server does not use TLS', async () => {
    const server = await serveTcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    expect((await ask(httpProbe(httpSpec(url(server.port), tls())))).reason).toBe('tlsFailed')
  })

  test('is given up at the deadline if the server does not answer the handshake', async () => {
    const server = await serveTcp()
    const { reason, detail } = await ask(httpProbe(httpSpec(url(server.port), tls())), 100)
    expect(reason).toBe('timeout')
    expect(detail).toContain('TLS handshake')
  })
})

describe('TLS sessions', () => {
  const isResumed = (socket: object) => socket instanceof TLSSocket && socket.isSessionReused()

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    '%s: a new connection each time, resumed from the second on',
    async (version) => {
      const resumed: unknown[] = []
      const options = { ...leaf, minVersion: version, maxVersion: version }
      const server = await serveHttps(options, (request, response) => {
        resumed.push(isResumed(request.socket))
        response.end()
      })
      const probe = httpProbe(httpSpec(url(server.port), tls()))
      for (let i = 0; i < 4; i++) expect((await ask(probe)).reason).toBe('ok')
      expect(resumed).toEqual([false, true, true, true])
      expect(server.accepted()).toBe(4)
    },
  )

  test('are not resumed with a session of an older connection whose chain was forgotten', async () => {
    const { port } = await serveHttps(leaf, (_request, response) => response.end())
    const client = new TlsClient(tls().tls, '127.0.0.1')
    const older = await client.connect({ host: '127.0.0.1', port })
    const [session] = await once(older, 'session')
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 10 * 365 * 86_400_000)
    const waiting = client.connect({ host: '127.0.0.1', port })
    // The check reads a changed file of certificate authorities again.
    older.emit('session', session)
    const newer = await waiting
    vi.restoreAllMocks()
    await once(newer, 'secureConnect')
    expect(newer.isSessionReused(), 'whether the session was resumed without a view of the certificates').toBe(false)
    older.destroy()
    newer.destroy()
  })

  test('do not hide the end of a certificate while they are resumed', async () => {
    // openssl writes the times of a certificate in whole seconds.
    const to = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 2_000)
    const short = authority.issue('IP:127.0.0.1', { to })
    const resumed: unknown[] = []
    const server = await serveHttps(short, (request, response) => {
      resumed.push(isResumed(request.socket))
      response.end()
    })
    const probe = httpProbe(httpSpec(url(server.port), tls()))
    const reasons: string[] = []
    while (Date.now() < to.getTime() + 1_500) {
      const before = Date.now() < to.getTime() - 100
      const after = Date.now() > to.getTime() + 1_000
      const { reason } = await ask(probe)
      if (before) expect(reason, 'result before the end of the certificate').toBe('ok')
      if (after) expect(reason, 'result after the end of the certificate').toBe('certificateRefused')
      reasons.push(reason)
      await sleep(100)
    }
    expect(resumed.includes(true), 'whether a session was resumed').toBe(true)
    expect(new Set(reasons)).toEqual(new Set(['ok', 'certificateRefused']))
  })
})
