/**
 * The keys of an entry of `healthchecks:`. Every key stands beside every other, so that a wrong one is reported as what it
 * is and not as the failure of seven alternatives. Which keys go together is in healthcheck-kind.ts, the defaults are in
 * healthcheck-defaults.ts.
 */
import * as z from 'zod'
import { parseAddress } from '../../wire/address.ts'
import { absolutePath, duration, flag, itemName, list, oneOf, pattern, section, textual, whole } from './field.ts'
import {
  HEADERS_WANTED,
  headersFrom,
  jitterFrom,
  patternFrom,
  STATUS_WANTED,
  statusFrom,
  texts,
  urlFrom,
} from './healthcheck-field.ts'
import { argv, capabilities, unsafe, user } from './program.ts'

const HOUR = 3_600_000
const URL_WANTED = 'an absolute URL wanted, written like https://localhost:6443/readyz'
const JITTER_WANTED = 'a percentage from 0% to 100% wanted'
const TCP_WANTED = 'a host and a port wanted, written like 127.0.0.1:9445 or [::1]:9445'
const MEMBERS_WANTED = 'a list of names of health checks wanted'
const PATTERN_WANTED = 'a regular expression wanted'

const target = () =>
  textual(TCP_WANTED, (text) => {
    const [, six, name, digits] = /^(?:\[([^\]\s]*)\]|([^\s:[\]/@]{1,253})):(\d{1,5})$/.exec(text) ?? []
    const host = six ?? name ?? ''
    const port = Number(digits)
    // A zone is of this node, and part of no address.
    const literal = six === undefined ? /^[\d.]+$/.test(host) : true
    if (port < 1 || port > 65535 || host === '' || (literal && parseAddress(host.replace(/%.*$/, '')) === undefined))
      return { refused: TCP_WANTED }
    return Number.isNaN(port) ? { refused: TCP_WANTED } : { value: { host, port } }
  })

const TEXT_WANTED = 'a text of at least one character wanted'
const someText = () => z.string({ error: TEXT_WANTED }).min(1, { error: TEXT_WANTED })

const ANSWER_WANTED = 'a text or { matches: PATTERN } wanted'
const answer = () =>
  z
    .union(
      [
        someText(),
        section(
          { matches: textual(PATTERN_WANTED, patternFrom).describe('A regular expression (ECMAScript, flags su)') },
          'a mapping with matches wanted',
        ),
      ],
      { error: ANSWER_WANTED },
    )
    .transform((value) =>
      typeof value === 'string'
        ? ({ kind: 'contains', text: value } as const)
        : ({ kind: 'matches', pattern: value.matches } as const),
    )

const ENVIRONMENT_WANTED = 'a mapping of names of variables to texts wanted'

/** Which check it is: exactly one of http to any is written. */
const kindKeys = () => ({
  name: itemName().describe('Unique; names the check in track, logs, metrics and status'),
  http: textual(URL_WANTED, urlFrom('http', 'http://localhost:8080/healthz'))
    .optional()
    .describe('Kind http: a URL, http or https, asked with a new connection each time'),
  tcp: target().optional().describe('Kind tcp: HOST:PORT that must take a connection'),
  exec: argv().optional().describe('Kind exec: program and arguments, never a shell; exit status 0 is well'),
  file: absolutePath().optional().describe('Kind file: the path of a file that is there, or holds a weight'),
  process: pattern(/^[^\0/]{1,255}$/, 'the name of a program wanted')
    .optional()
    .describe('Kind process: the name as in /proc/PID/comm'),
  all: list(itemName(), MEMBERS_WANTED)
    .min(1, { error: MEMBERS_WANTED })
    .optional()
    .describe('Combination: up while all of these checks are'),
  any: list(itemName(), MEMBERS_WANTED)
    .min(1, { error: MEMBERS_WANTED })
    .optional()
    .describe('Combination: up while one of these checks is'),
})

/** How often a probe runs, and what its results make of it. */
const pollKeys = () => ({
  interval: duration(10, HOUR).optional().describe('Time between two polls, 10ms to 1h, default 1s'),
  fastInterval: duration(1, HOUR)
    .optional()
    .describe('The same while the result is changing, and after an event, default 20ms'),
  timeout: duration(1, HOUR).optional().describe('A run that takes longer has failed, default: interval'),
  rise: whole(1, 1000).optional().describe('Successes in a row that make it up, default 1'),
  fall: whole(1, 1000).optional().describe('Failures in a row that make it down, default 1'),
  initial: oneOf('firstResult', 'up', 'down')
    .optional()
    .describe('Where it starts; firstResult: the first result decides alone; default firstResult'),
  jitter: textual(JITTER_WANTED, jitterFrom(JITTER_WANTED))
    .optional()
    .describe('Share of the interval by which a poll is put off at random, default 10%'),
  onUnknown: oneOf('hold', 'fail')
    .optional()
    .describe('What it counts as while it cannot be asked: as before, or down; default hold'),
  unknownAfter: duration(1000, 24 * HOUR)
    .optional()
    .describe('So long the last result stands, default 3 intervals and a timeout, at least 5s'),
})

/** Of an HTTP probe; `events` also goes with tcp. */
const httpKeys = () => ({
  events: flag()
    .optional()
    .describe('http and tcp: hold one idle connection whose end asks for a look at once, default true'),
  method: pattern(/^(?!CONNECT$)[A-Z]{1,16}$/, 'a method wanted, such as GET or HEAD')
    .optional()
    .describe('http: method, default GET'),
  headers: texts(HEADERS_WANTED)
    .transform(headersFrom)
    .optional()
    .describe('http: headers of the request; Host replaces that of the URL'),
  status: z
    .union([z.int(), z.string(), z.array(z.union([z.int(), z.string()]))], { error: STATUS_WANTED })
    .transform(statusFrom)
    .optional()
    .describe('http: expected status, such as 200, 200-399 or a list of such, default 200-399'),
  body: answer().optional().describe('http: what must be in the first 64 KiB of the answer'),
  redirects: z
    .union([flag(), whole(0, 50)], { error: 'true, false or a whole number from 0 to 50 wanted' })
    .transform((value) => (typeof value === 'number' ? value : value ? 50 : 0))
    .optional()
    .describe('http: how many redirects are followed, as curl -L does; true = 50, default false'),
  tls: section(
    {
      verify: flag().default(true).describe('https: the certificate must be valid and for this name'),
      caFile: absolutePath().optional().describe('https: PEM file of the authorities, default: those that Node ships'),
      serverName: pattern(/^[^\s/:]{1,253}$/, 'the name of a host wanted')
        .optional()
        .describe('https: the name asked for (SNI) and in the certificate, default: the host of the URL'),
    },
    'a mapping with verify, caFile and serverName wanted',
  )
    .optional()
    .describe('http: how the server proves itself'),
  unixSocket: absolutePath().optional().describe('http: a unix socket to talk to instead of the host of the URL'),
})

/** Of the other probes. */
const otherKeys = () => ({
  send: someText().optional().describe('tcp: what is sent after connecting'),
  expect: answer().optional().describe('tcp: what must come back'),
  user: user().optional().describe('exec: runs as this user of /etc/passwd, default: as the daemon'),
  capabilities: capabilities()
    .optional()
    .describe("exec: keep = it has the daemon's capabilities, as its own user and as root; default none"),
  unsafe: unsafe()
    .optional()
    .describe(
      'exec: one that others can change: refuse = the file is wrong, skip = nobody tracks it, run; default refuse',
    ),
  environment: texts(ENVIRONMENT_WANTED).optional().describe('exec: variables beside PATH'),
  content: oneOf('present', 'weight')
    .optional()
    .describe(
      'file: present, or weight = it holds an integer that is multiplied with the weight of whoever tracks it; default present',
    ),
  count: whole(1, 1000).optional().describe('process: at least so many must run, default 1'),
})

export const healthcheckKeys = () =>
  section(
    { ...kindKeys(), ...pollKeys(), ...httpKeys(), ...otherKeys() },
    'a mapping with name and one of http, tcp, exec, file, process, all and any wanted',
  )

export type HealthcheckKeys = z.output<ReturnType<typeof healthcheckKeys>>
