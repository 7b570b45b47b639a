/**
 * Reading of a request to the control socket and the TCP port: the target as Node's HTTP parser passes it, the host,
 * and the question for events. Path and query are pieces of the request. A name that a foreign page can have is never
 * accepted as the node's.
 */
import { eventQuestion } from '../../../src/http/event-question.ts'
import { isOurs, targetOf } from '../../../src/http/request-target.ts'
import { must, octets, type Target, textOf } from '../target.ts'

const OURS = ['node1', 'Node1.example.org']

export const REQUEST: Target = {
  name: 'request',
  corpus: () =>
    [
      '/v1/status\nlocalhost:9112',
      '/v1/events?after=5&limit=100\n127.0.0.1',
      'http://node1:80/v1/events?after=1?x\n[::1]:9112',
      'https://evil.example/metrics\nnode1.example.org.',
      '*\n[fe80::1]',
      '//x?a=b#c\nrebind.example:80',
    ].map(octets),
  words: [
    '?',
    '/',
    '#',
    '&',
    '=',
    'after=',
    'limit=',
    'http://',
    'HTTPS://',
    '%00',
    '%',
    '..',
    ':',
    '@',
    '[',
    ']',
    '::1',
    '.',
    ' ',
    '\n',
    'localhost',
    'node1',
    '127.0.0.1',
    '１',
    '٣',
    '+',
    'after%3D1',
  ].map(octets),
  largest: 300,
  short: 20_000,
  examine(input) {
    const [url = '', ...rest] = textOf(input).split('\n')
    const header = rest.length === 0 ? undefined : rest.join('\n')
    const { host, path, query } = targetOf({ url, headers: { host: header } })
    must(path !== '' && !path.includes('?'), 'There is no path', () => path)
    const absolute = /^https?:\/\//i.test(url)
    must(
      absolute || (path === '/' && (url === '' || url.startsWith('?'))) || url.startsWith(path),
      'The path is another one',
      () => [url, path],
    )
    must(url.endsWith(query) && url.includes(path === '/' ? '' : path), 'It was not sent', () => [url, path, query])
    must(absolute || host === header, 'The host is another one', () => [host, header])
    const ours = isOurs(host, OURS)
    must(ours === belongs(host), 'It is taken for ours, or is not', () => [host, ours])
    const question = eventQuestion(new URLSearchParams(query))
    if (typeof question === 'string') {
      must(question.length < 120, 'The answer is as long as the question', () => question)
      return `refused ${ours}`
    }
    for (const number of [question.after, question.limit])
      must(number === undefined || (Number.isSafeInteger(number) && number >= 0), 'It is no number', () => question)
    return `${absolute} ${ours} ${question.after !== undefined} ${question.limit !== undefined} ${host === undefined}`
  },
}

/** Reads the host in another way: an address in digits or brackets, or one of three names, with a port or without. */
function belongs(host: string | undefined): boolean {
  if (host === undefined) return true
  const colon = /:[0-9]*$/.exec(host)
  const name = (colon === null ? host : host.slice(0, colon.index)).toLowerCase()
  const bare = name.endsWith('.') ? name.slice(0, -1) : name
  if (['localhost', ...OURS.map((each) => each.toLowerCase())].includes(bare)) return true
  const octet = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
  if (new RegExp(`^\\[?${octet}(\\.${octet}){3}\\]?$`).test(name)) return !/^\[|\]$/.test(name) || /^\[.*\]$/.test(name)
  // No accepted name has a colon in it.
  const inner = name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name
  return (
    /^[0-9a-f:.]*:[0-9a-f:.]*(%[0-9a-z.:-]+)?$/.test(inner) && URL.canParse(`http://[${inner.replace(/%.*$/, '')}]/`)
  )
}
