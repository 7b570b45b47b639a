/**
 * The keys of an entry of `healthchecks:`. The schema of an entry has all keys, so a wrong value causes one message,
 * and not the failure of seven alternatives. Which keys may stand together is decided in healthcheck-kind.ts, and the
 * defaults in healthcheck-defaults.ts.
 */
import * as z from 'zod'
import { parseAddress } from '../../wire/address.ts'
import { absolutePath, duration, flag, itemName, list, oneOf, pattern, section, textual, whole } from './field.ts'
import {
  HEADERS_EXPECTED,
  headersFrom,
  jitterFrom,
  patternFrom,
  STATUS_EXPECTED,
  statusFrom,
  texts,
  urlFrom,
} from './healthcheck-field.ts'
import { argv, capabilities, unsafe, user } from './program.ts'

const HOUR = 3_600_000
const URL_EXPECTED = 'an absolute URL, such as https://localhost:6443/readyz'
const JITTER_EXPECTED = 'a percentage from 0% to 100%'
const TCP_EXPECTED = 'a host and a port, such as 127.0.0.1:9445 or [::1]:9445'
const MEMBERS_EXPECTED = 'a list of names of health checks'
const PATTERN_EXPECTED = 'a regular expression'

const target = () =>
  textual(TCP_EXPECTED, (text) => {
    const [, six, name, digits] = /^(?:\[([^\]\s]*)\]|([^\s:[\]/@]{1,253})):(\d{1,5})$/.exec(text) ?? []
    const host = six ?? name ?? ''
    const port = Number(digits)
    // The zone of an IPv6 address (such as %eth0) is left out, because a zone names an interface of this node.
    const literal = six === undefined ? /^[\d.]+$/.test(host) : true
    if (port < 1 || port > 65535 || host === '' || (literal && parseAddress(host.replace(/%.*$/, '')) === undefined))
      return { refused: TCP_EXPECTED }
    return Number.isNaN(port) ? { refused: TCP_EXPECTED } : { value: { host, port } }
  })

const TEXT_EXPECTED = 'a text of at least one character'
const someText = () => z.string({ error: TEXT_EXPECTED }).min(1, { error: TEXT_EXPECTED })

const ANSWER_EXPECTED = 'a text or { matches: PATTERN }'
const answer = () =>
  z
    .union(
      [
        someText(),
        section(
          { matches: textual(PATTERN_EXPECTED, patternFrom).describe('A regular expression (ECMAScript, flags su)') },
          'a mapping with matches',
        ),
      ],
      { error: ANSWER_EXPECTED },
    )
    .transform((value) =>
      typeof value === 'string'
        ? ({ kind: 'contains', text: value } as const)
        : ({ kind: 'matches', pattern: value.matches } as const),
    )

const ENVIRONMENT_EXPECTED = 'a mapping from names of variables to texts'

/** Returns the keys that tell the kind of a health check; an entry has exactly one of `http` to `any`. */
const kindKeys = () => ({
  name: itemName().describe('Unique name of the check in track, logs, metrics and status'),
  http: textual(URL_EXPECTED, urlFrom('http://localhost:8080/healthz'))
    .optional()
    .describe('Kind http: URL (http or https) that each poll requests over a new connection'),
  tcp: target().optional().describe('Kind tcp: HOST:PORT that must accept a connection'),
  exec: argv().optional().describe('Kind exec: program and arguments, never a shell; exit status 0 is a success'),
  file: absolutePath().optional().describe('Kind file: path of a file that must exist, or that contains a weight'),
  process: pattern(/^[^\0/]{1,255}$/, 'the name of a program')
    .optional()
    .describe('Kind process: name of a process, as in /proc/PID/comm'),
  all: list(itemName(), MEMBERS_EXPECTED)
    .min(1, { error: MEMBERS_EXPECTED })
    .optional()
    .describe('Combination: up while all of these checks are up'),
  any: list(itemName(), MEMBERS_EXPECTED)
    .min(1, { error: MEMBERS_EXPECTED })
    .optional()
    .describe('Combination: up while at least one of these checks is up'),
})

/** Returns the keys for the times of a probe, and for how its results count. */
const pollKeys = () => ({
  interval: duration(10, HOUR).optional().describe('Time between two polls, 10ms to 1h, default: 1s'),
  fastInterval: duration(1, HOUR)
    .optional()
    .describe('Time between two polls while the result is changing, and after an event, default: 20ms'),
  timeout: duration(1, HOUR)
    .optional()
    .describe('Longest time of a poll; one that takes longer has failed; default: interval'),
  rise: whole(1, 1000).optional().describe('Number of successes in a row until the check is up, default: 1'),
  fall: whole(1, 1000).optional().describe('Number of failures in a row until the check is down, default: 1'),
  initial: oneOf('firstResult', 'up', 'down')
    .optional()
    .describe('Result at the start; firstResult: the first poll decides alone; default: firstResult'),
  jitter: textual(JITTER_EXPECTED, jitterFrom(JITTER_EXPECTED))
    .optional()
    .describe('Largest random delay of a poll, as a share of the interval, default: 10%'),
  onUnknown: oneOf('hold', 'fail')
    .optional()
    .describe('Result while the check cannot run; hold: the last result; fail: down; default: hold'),
  unknownAfter: duration(1000, 24 * HOUR)
    .optional()
    .describe('Time for which the last result stays valid, default: 3 intervals and a timeout, at least 8s'),
})

/** Returns the keys of an HTTP probe. The key `events` also belongs to a tcp probe. */
const httpKeys = () => ({
  events: flag()
    .optional()
    .describe('http and tcp: keep one idle connection; when it ends, the check polls immediately; default: true'),
  method: pattern(/^(?!CONNECT$)[A-Z]{1,16}$/, 'a method, such as GET or HEAD')
    .optional()
    .describe('http: method, default: GET'),
  headers: texts(HEADERS_EXPECTED)
    .transform(headersFrom)
    .optional()
    .describe('http: headers of the request; Host replaces the host of the URL'),
  status: z
    .union([z.int(), z.string(), z.array(z.union([z.int(), z.string()]))], { error: STATUS_EXPECTED })
    .transform(statusFrom)
    .optional()
    .describe('http: expected status, such as 200, 200-399 or a list of them, default: 200-399'),
  body: answer().optional().describe('http: text or pattern that the first 64 KiB of the answer must contain'),
  redirects: z
    .union([flag(), whole(0, 50)], { error: 'true, false or an integer from 0 to 50' })
    .transform((value) => (typeof value === 'number' ? value : value ? 50 : 0))
    .optional()
    .describe('http: number of redirects that are followed, as with curl -L; true: 50; default: false'),
  tls: section(
    {
      verify: flag().default(true).describe('https: the certificate must be valid and match the name'),
      caFile: absolutePath()
        .optional()
        .describe('https: PEM file of the certificate authorities, default: those of Node'),
      serverName: pattern(/^[^\s/:]{1,253}$/, 'the name of a host')
        .optional()
        .describe('https: name in the request (SNI) and in the certificate, default: the host of the URL'),
    },
    'a mapping with verify, caFile and serverName ',
  )
    .optional()
    .describe('http: how the certificate of the server is verified'),
  unixSocket: absolutePath().optional().describe('http: unix socket to connect to instead of the host of the URL'),
})

/** Returns the keys of the probes other than HTTP, and of combinations. */
const otherKeys = () => ({
  send: someText().optional().describe('tcp: text that is sent after connecting'),
  expect: answer().optional().describe('tcp: text or pattern that the answer must contain'),
  user: user()
    .optional()
    .describe('exec: user of /etc/passwd that the program runs as, default: the user of the daemon'),
  capabilities: capabilities()
    .optional()
    .describe("exec: keep: the program has the daemon's capabilities, also as another user; default: none"),
  unsafe: unsafe()
    .optional()
    .describe(
      'exec: a program that other users can change; refuse: the configuration is refused; skip: the check does not run; run: it runs; default: refuse',
    ),
  environment: texts(ENVIRONMENT_EXPECTED).optional().describe('exec: environment variables in addition to PATH'),
  content: oneOf('present', 'weight')
    .optional()
    .describe(
      'file: present: the file must exist; weight: it contains an integer, which is multiplied by the weight of the tracker; default: present',
    ),
  count: whole(1, 1000).optional().describe('process: smallest number of processes that must run, default: 1'),
})

export const healthcheckKeys = () =>
  section(
    { ...kindKeys(), ...pollKeys(), ...httpKeys(), ...otherKeys() },
    'a mapping with name and one of http, tcp, exec, file, process, all and any',
  )

export type HealthcheckKeys = z.output<ReturnType<typeof healthcheckKeys>>
