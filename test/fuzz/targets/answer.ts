/**
 * Answers that the daemon's own readers parse: HTTP of checked services, and lines of a watch. However the octets are
 * cut into pieces, the outcome is the same. A body is never longer than the received octets.
 */
import { LineReader } from '../../../src/cluster/runtime/api/line-reader.ts'
import { HttpAnswer } from '../../../src/healthcheck/probes/http-answer.ts'
import { must, octets, same, type Target } from '../target.ts'

const METHODS = ['GET', 'HEAD', 'POST'] as const

export const ANSWER: Target = {
  name: 'answer',
  corpus: () =>
    [
      '  HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello and more',
      '  HTTP/1.0 200 OK\r\n\r\nuntil the end',
      '  HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
      '  HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n',
      '  HTTP/1.1 302 Found\nLocation: /ready\ncontent-length: 0\n\n',
      '  HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\ncontent-length: 0\r\n\r\n',
      '  {"type":"ADDED"}\n{"type":"BOOKMARK"}\n\n',
    ].map(octets),
  words: [
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 101 x\r\n',
    '\r\n',
    '\r\n\r\n',
    '\n',
    '\r',
    'content-length: 3\r\n',
    'content-length: -1\r\n',
    'content-length: 99999999999999999999\r\n',
    'transfer-encoding: chunked\r\n',
    'location: /x\r\n',
    '0\r\n\r\n',
    'fffffffffffff\r\n',
    '5\r\nhello\r\n',
    ';',
    ': ',
    ' ',
  ].map(octets),
  largest: 500,
  short: 20_000,
  examine(input) {
    const method = METHODS[(input[0] ?? 0) % METHODS.length] ?? 'GET'
    const rest = Buffer.from(input.subarray(2))
    // Cuts at every octet, at some, and nowhere.
    const [whole, ...cut] = [rest.length, 1, ((input[1] ?? 0) % 31) + 2].map((size) => answerOf(method, rest, size))
    for (const each of cut) must(same(each, whole), 'It depends on how it is cut', () => [each, whole])
    const [lines, ...others] = [rest.length, 1, ((input[1] ?? 0) % 31) + 2].map((size) => linesOf(rest, size))
    for (const each of others) must(same(each, lines), 'Lines depend on how they are cut', () => [each, lines])
    must(
      (lines?.lines ?? []).every((line) => line !== '' && !line.includes('\n')),
      'A line is none',
      () => lines,
    )
    if (whole === undefined) return 'nothing'
    must(whole.body.length <= rest.length, 'The body is longer than the answer')
    must(whole.status === undefined || (whole.status >= 200 && whole.status <= 999), 'It is no status', () => whole)
    return `${method} ${whole.isWrong} ${whole.ended} ${whole.body === ''} ${whole.location !== undefined}`
  },
}

const cutIn = (octets: Buffer, size: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(octets.length / Math.max(1, size)) }, (_, i) =>
    octets.subarray(i * size, (i + 1) * size),
  )

function answerOf(method: string, octets: Buffer, size: number) {
  const answer = new HttpAnswer(method)
  for (const piece of cutIn(octets, size)) {
    const wrong = answer.read(piece)
    // A fault may be noticed sooner or later, and then no more is read.
    if (wrong !== undefined) return { isWrong: true, status: undefined, location: undefined, body: '', ended: false }
    if (answer.complete) break
  }
  const ended = answer.complete || answer.end()
  return { isWrong: false, status: answer.status, location: answer.location, body: answer.body, ended }
}

function linesOf(octets: Buffer, size: number) {
  const reader = new LineReader(10_000)
  const lines = cutIn(octets, size).flatMap((piece) => reader.take(piece) ?? ['too long'])
  return { lines, isInside: reader.isInside }
}
