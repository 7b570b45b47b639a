/** Answers byte by byte and in one piece; what is expected comes from RFC 9112, not from our own encoder. */
import { describe, expect, test } from 'vitest'
import { HttpAnswer } from '../../../src/healthcheck/probes/http-answer.ts'

type Found = { status?: number | undefined; body: string; complete: boolean; wrong?: string | undefined }

function reading(text: string, size: number, method = 'GET'): Found {
  const answer = new HttpAnswer(method)
  const bytes = Buffer.from(text, 'utf8')
  for (let at = 0; at < bytes.length; at += size) {
    const wrong = answer.read(bytes.subarray(at, at + size))
    if (wrong !== undefined) return { status: answer.status, body: answer.body, complete: false, wrong }
  }
  return { status: answer.status, body: answer.body, complete: answer.complete }
}

describe.each([1, 2, 7, 4_096])('in pieces of %d bytes', (size) => {
  test.each([
    ['counted', 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbödy', 'böd', true],
    ['counted, and more behind it', 'HTTP/1.1 200 OK\r\nContent-Length:2\r\n\r\nokHTTP/1.1 500 x\r\n\r\n', 'ok', true],
    [
      'chunked',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0A;x=y\r\n0123456789\r\n0\r\n\r\n',
      'abc0123456789',
      true,
    ],
    ['chunked, not over', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n', 'abc', false],
    ['until the end', 'HTTP/1.0 200\r\nserver: x\r\n\r\nabc', 'abc', false],
    ['another answer first', 'HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nabc', '', true],
    ['bare line feeds', 'HTTP/1.1 200 OK\ncontent-length: 1\n\na', 'a', true],
    ['a folded header', 'HTTP/1.1 200 OK\r\nx: a\r\n  b: c\r\ncontent-length: 0\r\n\r\n', '', true],
  ])('%s', (_, text, body, complete) => {
    expect(reading(text, size)).toMatchObject({ body, complete, status: expect.any(Number) })
  })

  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n', 'it does not begin with HTTP/'],
    ['a version of the future', 'HTTP/2.0 200 OK\r\n\r\n', 'its first line is no status line of HTTP/1.1'],
    ['a status that is none', 'HTTP/1.1 2000 OK\r\n\r\n', 'its first line is no status line of HTTP/1.1'],
    ['a header without a name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n', 'one of its headers is none'],
    ['a length that is none', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n', 'its length is no number'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 'its length is no number'],
    ['an upgrade', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n', 'it switched protocols'],
    [
      'a chunk without a size',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n',
      'the size of a chunk of it is no number',
    ],
    [
      'a chunk that is longer',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n',
      'a chunk of it is longer than it says',
    ],
    ['interim answers without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000), 'its head exceeds 16384 bytes'],
    ['a head without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`, 'its head exceeds 16384 bytes'],
  ])('%s', (_, text, wrong) => {
    expect(reading(text, size).wrong).toBe(wrong)
  })
})

test('the blanks of a header take linear time', () => {
  const head = `HTTP/1.1 200 OK\r\nx: a${' '.repeat(16_000)}b\r\nlocation: \t /there \t \r\n\r\n`
  const startedAt = performance.now()
  for (let i = 0; i < 20; i++) {
    const answer = new HttpAnswer('GET')
    expect(answer.read(Buffer.from(head))).toBeUndefined()
    expect(answer.location).toBe('/there')
  }
  // A quadratic pattern needs 100 ms for each of them.
  expect(performance.now() - startedAt).toBeLessThan(500)
})

test('the answer to HEAD has a length and no body', () => {
  expect(reading('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n', 4_096, 'HEAD')).toMatchObject({
    status: 200,
    complete: true,
  })
})

test('no more than 64 KiB of a body are looked at', () => {
  const answer = new HttpAnswer('GET')
  expect(answer.read(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'))).toBeUndefined()
  for (let i = 0; i < 16; i++) answer.read(Buffer.alloc(4_096, 'x'))
  expect(answer.complete).toBe(false)
  answer.read(Buffer.from('x'))
  expect(answer.complete).toBe(true)
})

test.each([
  ['HTTP/1.1 200 OK\r\n\r\nabc', true],
  ['HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', false],
  ['HTTP/1.1 200 O', false],
])('the end of the connection is the end of %j: %s', (text, whole) => {
  const answer = new HttpAnswer('GET')
  answer.read(Buffer.from(text))
  expect(answer.end()).toBe(whole)
})

test('where it leads, and nothing of what else it says', () => {
  const answer = new HttpAnswer('GET')
  answer.read(Buffer.from('HTTP/1.1 301 Moved\r\nLocation: /a?b \r\nlocation: /c\r\n\r\n'))
  expect([answer.status, answer.location]).toEqual([301, '/a?b'])
})
