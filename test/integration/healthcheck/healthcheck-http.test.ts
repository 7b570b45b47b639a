import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { HttpSpec } from '../../../src/healthcheck/check.ts'
import { type HttpPorts, httpProbe as probeOverSockets } from '../../../src/healthcheck/probes/http.ts'
import { loadNative } from '../../../src/linux/native.ts'
import { openStream } from '../../../src/linux/sockets/stream.ts'
import { ask, httpSpec } from '../../support/check-spec.ts'
import { closeServersAfterEach, serveHttp, serveTcp } from '../../support/loopback-server.ts'

closeServersAfterEach()

const native = loadNative()
/**
 * The tests run over both HTTP clients of health checks: streams of the system, and Node's sockets, to which a worker falls
 * back.
 */
const WAYS: readonly (readonly [string, HttpPorts])[] = [
  ['streams of the system', { openStream: (...order) => openStream(native, ...order) }],
  ["Node's sockets", {}],
]

/**
 * A server in a process of its own, so that the server sends faster than the check reads. The texts are escaped for
 * JSON.
 */
async function floodFrom(head: string, flood: string): Promise<{ readonly port: number; readonly end: () => void }> {
  const program = `
    const piece = Buffer.from("${flood}".repeat(Math.ceil(1e6 / ${flood.length})))
    const server = require('node:net').createServer((socket) => {
      socket.on('error', () => {}).once('data', () => {
        socket.write("${head}")
        const more = () => { while (!socket.destroyed && socket.write(piece)); }
        socket.on('drain', more)
        more()
      })
    })
    server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { port: Number(String(line)), end: () => child.kill('SIGKILL') }
}

/** Measures how late the event loop runs a timer of 10 ms. */
class TimerGaps {
  #longest = 0
  #last = performance.now()
  readonly #timer = setInterval(() => this.#tick(), 10)

  stop(): number {
    clearInterval(this.#timer)
    this.#tick()
    return this.#longest
  }

  #tick(): void {
    const now = performance.now()
    this.#longest = Math.max(this.#longest, now - this.#last)
    this.#last = now
  }
}

describe.each(WAYS)('an http check over %s', (_way, ports) => {
  const httpProbe = (spec: HttpSpec, more: HttpPorts = {}) => probeOverSockets(spec, { ...ports, ...more })

  const at = (port: number, path = '/') => `http://127.0.0.1:${port}${path}`

  describe('status and body', () => {
    test.each([
      [200, [[200, 399]], 'ok', 'ok'],
      [302, [[200, 399]], 'ok', 'ok'],
      [500, [[200, 399]], 'fail', 'status'],
      [
        401,
        [
          [200, 299],
          [401, 403],
        ],
        'ok',
        'ok',
      ],
      [204, [[200, 200]], 'fail', 'status'],
    ] as const)('%d, wanted %j: %s', async (answered, status, outcome, reason) => {
      const { port } = await serveHttp((_request, response) => response.writeHead(answered).end())
      const result = await ask(httpProbe(httpSpec(at(port), { status })))
      expect(result).toMatchObject({ outcome, reason })
      expect(result.detail).toContain(String(answered))
    })

    test.each([
      [{ kind: 'contains', text: 'ready' }, 'ok'],
      [{ kind: 'contains', text: 'steady' }, 'contentMissing'],
      [{ kind: 'matches', pattern: '^I am.*dy$' }, 'ok'],
      [{ kind: 'matches', pattern: '^ready' }, 'contentMissing'],
    ] as const)('body %j: %s', async (body, reason) => {
      const { port } = await serveHttp((_request, response) => response.end('I am\nready'))
      expect((await ask(httpProbe(httpSpec(at(port), { body })))).reason).toBe(reason)
    })

    test('for an endless body, the status decides immediately, and a match is searched in the first 64 KiB', async () => {
      const { port } = await serveHttp((_request, response) => {
        const more = () => {
          while (response.write('x'.repeat(16_384)));
        }
        response.on('drain', more)
        more()
      })
      expect((await ask(httpProbe(httpSpec(at(port))))).reason).toBe('ok')
      const body = { kind: 'contains', text: 'y' } as const
      const { reason, took } = await ask(httpProbe(httpSpec(at(port), { body })))
      expect(reason).toBe('contentMissing')
      expect(took, 'ms until the result, which must come before the deadline').toBeLessThan(1_900)
    })
  })

  describe('a hostile server', () => {
    test.each([
      ['interim answers without end', 'HTTP/1.1 100 Continue\\r\\n\\r\\n', '', 'badAnswer'],
      [
        'chunks that consist of extensions',
        `1;${'x'.repeat(15_000)}\\r\\na\\r\\n`,
        'HTTP/1.1 200 OK\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n',
        'timeout',
      ],
    ])('%s: the timeout holds and timers run meanwhile', async (_, flood, head, reason) => {
      const { port, end } = await floodFrom(head, flood)
      try {
        const gaps = new TimerGaps()
        const body = { kind: 'contains', text: 'y' } as const
        const result = await ask(httpProbe(httpSpec(at(port), { body })), 500)
        expect(result.reason).toBe(reason)
        expect(result.took, 'ms until the result').toBeLessThan(1_500)
        expect(gaps.stop(), 'longest time between two timers, ms').toBeLessThan(400)
      } finally {
        end()
      }
    })
  })

  describe('the request', () => {
    async function seen(changes: Parameters<typeof httpSpec>[1], path = '/'): Promise<IncomingMessage> {
      let request: IncomingMessage | undefined
      const { port } = await serveHttp((each, response) => {
        request = each
        response.end()
      })
      await ask(httpProbe(httpSpec(at(port, path), changes)))
      if (request === undefined) throw new Error('The server was not asked')
      return request
    }

    test('has the configured method, path, headers and Host', async () => {
      const { method, url, headers } = await seen(
        { method: 'OPTIONS', headers: { host: 'api.example', 'x-probe': '1' } },
        '/readyz?verbose',
      )
      expect({ method, url }).toEqual({ method: 'OPTIONS', url: '/readyz?verbose' })
      expect(headers).toMatchObject({ host: 'api.example', 'x-probe': '1', connection: 'close' })
    })

    test("has the URL's host and port as Host if none is configured", async () => {
      expect((await seen({})).headers.host).toMatch(/^127\.0\.0\.1:\d+$/)
    })

    test('sends credentials of the URL in a header and never shows them in a result', async () => {
      let authorization: string | undefined
      const { port } = await serveHttp((request, response) => {
        authorization = request.headers.authorization
        response.writeHead(403).end()
      })
      const { detail } = await ask(httpProbe(httpSpec(`http://me:s%26cret@127.0.0.1:${port}/?token=cret`)))
      expect(authorization).toBe(`Basic ${Buffer.from('me:s&cret').toString('base64')}`)
      expect(detail).not.toMatch(/cret|me:/)
    })

    test('has a connection of its own in each run', async () => {
      const server = await serveHttp((_request, response) => response.end())
      const probe = httpProbe(httpSpec(at(server.port)))
      for (let i = 0; i < 3; i++) await ask(probe)
      expect(server.accepted()).toBe(3)
    })

    test('goes to the configured unix socket, whatever the host of the URL is', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'hf-socket-'))
      try {
        const path = join(folder, 's')
        await serveHttp((request, response) => response.end(request.headers.host), { path })
        const body = { kind: 'contains', text: 'nowhere.invalid' } as const
        const spec = httpSpec('http://nowhere.invalid/x', { unixSocket: path, body })
        expect((await ask(httpProbe(spec))).reason).toBe('ok')
        expect((await ask(httpProbe({ ...spec, unixSocket: join(folder, 'none') }))).reason).toBe('connectionRefused')
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
  })

  describe('redirects, as with curl -L', () => {
    test('are followed with the method that HTTP prescribes', async () => {
      const asked: string[] = []
      const { port } = await serveHttp((request, response) => {
        asked.push(`${request.method} ${request.url}`)
        if (request.url === '/a') response.writeHead(302, { location: 'b?x=1' }).end()
        else if (request.url === '/b?x=1') response.writeHead(308, { location: `http://127.0.0.1:${port}/c` }).end()
        else response.end()
      })
      expect((await ask(httpProbe(httpSpec(at(port, '/a'), { redirects: 5, method: 'POST' })))).reason).toBe('ok')
      expect(asked).toEqual(['POST /a', 'GET /b?x=1', 'GET /c'])
    })

    test('end if they form a loop', async () => {
      const server = await serveHttp((_request, response) => response.writeHead(301, { location: '/' }).end())
      const { outcome, reason } = await ask(httpProbe(httpSpec(at(server.port), { redirects: 10 })))
      expect({ outcome, reason }).toEqual({ outcome: 'fail', reason: 'tooManyRedirects' })
      expect(server.accepted()).toBe(11)
    })

    test('send no secret of one host to another, and a 3xx without a location is the answer', async () => {
      const told: (string | undefined)[] = []
      const other = await serveHttp((request, response) => {
        told.push(request.headers.authorization, request.headers.cookie, String(request.headers['x-probe']))
        response.writeHead(304).end()
      })
      const { port } = await serveHttp((_request, response) =>
        response.writeHead(307, { location: at(other.port, '/') }).end(),
      )
      const headers = { authorization: 'Bearer t', cookie: 'c=1', 'x-probe': '1' }
      const { reason, detail } = await ask(httpProbe(httpSpec(at(port), { redirects: 1, headers })))
      expect({ reason, detail }).toEqual({ reason: 'ok', detail: '304' })
      expect(told).toEqual([undefined, undefined, '1'])
    })

    test.each([
      ['gopher://127.0.0.1/', 'badAnswer'],
      ['http://[', 'badAnswer'],
    ])('to %s: %s', async (location, reason) => {
      const { port } = await serveHttp((_request, response) => response.writeHead(302, { location }).end())
      expect((await ask(httpProbe(httpSpec(at(port), { redirects: 1 })))).reason).toBe(reason)
    })
  })

  describe('a faulty server', () => {
    test('that does not listen gives a refused connection', async () => {
      const server = await serveTcp()
      await server.stop()
      const { outcome, reason } = await ask(httpProbe(httpSpec(at(server.port))))
      expect({ outcome, reason }).toEqual({ outcome: 'fail', reason: 'connectionRefused' })
    })

    test.each([
      ['it says nothing', () => {}],
      ['its headers do not end', (write: (text: string) => void) => write('HTTP/1.1 200 OK\r\nx: ')],
      [
        'one header after the other',
        (write: (text: string) => void) => write(`HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(9)}`),
      ],
    ])('%s: the deadline ends it', async (_, greet) => {
      const server = await serveTcp((socket) => greet((text) => socket.write(text)))
      const { outcome, reason, took } = await ask(httpProbe(httpSpec(at(server.port))), 150)
      expect({ outcome, reason }).toEqual({ outcome: 'fail', reason: 'timeout' })
      expect(took).toBeGreaterThanOrEqual(149)
      expect(took, 'ms until the result, deadline 150').toBeLessThan(5_000)
    })

    test('whose body stops in the middle fails a body match', async () => {
      const { port } = await serveHttp((_request, response) => response.writeHead(200).write('rea'))
      const body = { kind: 'contains', text: 'ready' } as const
      expect((await ask(httpProbe(httpSpec(at(port), { body })), 150)).reason).toBe('timeout')
    })

    test.each([
      ['FIN', 'connectionReset', (socket: { end(): void }) => socket.end()],
      ['RST', 'connectionReset', (socket: { resetAndDestroy(): void }) => socket.resetAndDestroy()],
      ['SSH', 'badAnswer', (socket: { end(text: string): void }) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')],
      [
        '64 KiB of headers',
        'badAnswer',
        (socket: { end(text: string): void }) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(65_536)}\r\n\r\n`),
      ],
    ] as const)('%s instead of an answer: %s', async (_, reason, answer) => {
      const server = await serveTcp((socket) => socket.once('data', () => answer(socket)))
      expect((await ask(httpProbe(httpSpec(at(server.port))))).reason).toBe(reason)
    })
  })

  describe('host names', () => {
    test('resolve localhost to the loopback of each family without a resolver', async () => {
      const { port } = await serveHttp((_request, response) => response.end(), { port: 0, host: '::1' })
      const probe = httpProbe(httpSpec(`http://localhost:${port}/`), {
        resolve: () => Promise.reject(new Error('asked')),
      })
      expect((await ask(probe)).reason).toBe('ok')
    })

    test('end a run at its deadline if the resolver does not answer, and a late answer is used', async () => {
      const { port } = await serveHttp((_request, response) => response.end())
      let answer: (addresses: { address: string; family: number }[]) => void = () => {}
      let questions = 0
      const resolve = () => {
        questions++
        return new Promise<{ address: string; family: number }[]>((answered) => {
          answer = answered
        })
      }
      const probe = httpProbe(httpSpec(`http://api.example:${port}/`), { resolve })
      for (let i = 0; i < 2; i++) {
        const { reason, detail } = await ask(probe, 80)
        expect(reason).toBe('timeout')
        expect(detail).toContain('still looking up "api.example"')
      }
      expect(questions, 'requests to the resolver, one at a time').toBe(1)
      answer([{ address: '127.0.0.1', family: 4 }])
      expect((await ask(probe)).reason).toBe('ok')
    })

    test('give the reason if the name does not exist', async () => {
      const gone = () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }))
      const { outcome, reason, detail } = await ask(httpProbe(httpSpec('http://api.example/'), { resolve: gone }))
      expect({ outcome, reason }).toEqual({ outcome: 'fail', reason: 'nameNotFound' })
      expect(detail).toBe('Cannot look up "api.example": the name does not exist')
    })
  })
})
