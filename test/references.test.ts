/**
 * Every reference resolves: ground rules, decision records, requirement ids, RFC sections, paths and links that the sources, the tests and
 * the docs mention. `UPDATE_DOCS=1` writes the index of the decision records.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const TEXT = /\.(ts|js|mjs|cjs|c|h|sh|md|yaml|yml|txt|conf|service)$|(^|\/)(Makefile|Dockerfile)$/
const FOLDERS = ['src', 'test', 'docs', 'native', 'bench', 'scripts', 'deploy', '.ci']
const ALONE = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'Makefile', 'Dockerfile', 'vitest.config.ts']
/** Octets and texts of others, where a match means nothing. */
const FOREIGN = [
  'test/conformance/vectors/',
  'test/fuzz/regressions/',
  'test/samples/',
  'test/simulator/scenarios/',
  'bench/results/',
  'native/fuzz/inputs/',
]

function below(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? below(path) : [path]
  })
}

const paths = [...FOLDERS.flatMap(below), ...ALONE].filter(
  (path) => TEXT.test(path) && path !== 'test/references.test.ts' && !FOREIGN.some((folder) => path.startsWith(folder)),
)
const files = paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** `path:line: match` for each match that `isWrong`. */
function wrong(pattern: RegExp, isWrong: (match: RegExpMatchArray, path: string, text: string) => boolean): string[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)]
      .filter((match) => isWrong(match, path, text))
      .map((match) => `${path}:${text.slice(0, match.index).split('\n').length}: ${match[0].trim()}`),
  )
}

const ADR = 'docs/adr'
const records = readdirSync(join(ROOT, ADR)).filter((name) => /^\d{4}-.*\.md$/.test(name))
const numbers = new Set(records.map((name) => name.slice(0, 4)))

/** As GitHub makes them of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
const headingsOf = (text: string) => [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
const anchorsOf = (text: string) => headingsOf(text).map((heading) => anchorOf(heading.replace(/[`*]/g, '')))

describe('references', () => {
  test('the names of all files are letters, digits and . _ - +', () => {
    const names = readdirSync(ROOT).filter((name) => name !== 'node_modules')
    expect([...names, ...FOLDERS.flatMap(below)].filter((path) => !/^[A-Za-z0-9._+@/-]+$/.test(path))).toEqual([])
  })

  test('no line cites a document that is not in the repository', () => {
    expect(
      wrong(
        /\b(?:design(?:-2)?|house-review|code-style|plain-english|io-facts|lab-results)\.md\b|\.\.\/shared\//g,
        () => true,
      ),
    ).toEqual([])
  })

  test('every ground rule is one of docs/architecture.md', () => {
    const [, rules = ''] = /^## Ground rules$([\s\S]*?)^## /m.exec(textOf('docs/architecture.md')) ?? []
    const known = new Set([...rules.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => number))
    expect(known.size).toBe(8)
    expect(
      wrong(
        /ground rules? (\d+)(?:(?: and |, | to )(\d+))?/gi,
        ([, one, other]) => !known.has(one) || (other !== undefined && !known.has(other)),
      ),
    ).toEqual([])
  })

  test('every decision record that is named is there', () => {
    expect(
      wrong(
        /\b(?:ADR |adr\/)(\d{4})([a-z0-9-]*\.md)?/g,
        ([, number = '', rest]) =>
          !numbers.has(number) || (rest !== undefined && !records.includes(`${number}${rest}`)),
      ),
    ).toEqual([])
  })

  test('every requirement id is one of the pages of RFC 9568', () => {
    const pages = textOf('docs/rfc9568.md') + textOf('docs/rfc9568-operation.md')
    const known = new Set(pages.match(/VR-[A-Z0-9]+-\d+/g))
    expect(wrong(/VR-[A-Z0-9]+-\d+/g, ([id]) => !known.has(id))).toEqual([])
  })

  test('every section belongs to a document that the file names', () => {
    const documents = /RFC ?\d{3,4}|IEEE|draft-|\bHTML\b|POSIX|OCI\b|sd_notify|SPDX/
    expect(wrong(/§\s?[A-Z]?\d+(?:\.\d+)*/g, (_, __, text) => !documents.test(text))).toEqual([])
  })

  test('every path that is named exists', () => {
    const folders = new Set(readdirSync(join(ROOT, 'src')))
    const named =
      /(?<![\w./@$}~-])((?:src|test|docs|native|bench|scripts|deploy)\/[\w./-]+\.(?:ts|js|mjs|cjs|c|h|sh|md|yaml|yml|txt|svg|json|conf))(?![\w*{<]|\.\w)/g
    const made = /^(?:docs\/[\w-]+\.schema\.json)$/
    expect(wrong(named, ([, path = '']) => !made.test(path) && !existsSync(join(ROOT, path)))).toEqual([])
    const short = /(?<![\w./@$}~'"`-])(\w[\w-]*)\/([\w/-]+\.ts)(?!\w)/g
    expect(
      wrong(
        short,
        ([, folder = '', rest], path) =>
          folders.has(folder) && path.startsWith('src/') && !existsSync(join(ROOT, 'src', folder, rest ?? '')),
      ),
    ).toEqual([])
  })

  test('every link of a page leads to a file and a heading that are there', () => {
    const links = wrong(/(?<!!)\[[^\]]*\]\(([^)\s]+)\)/g, ([, target = ''], path) => {
      if (!path.endsWith('.md') || /^[a-z]+:/.test(target)) return false
      const [file = '', anchor] = target.split('#')
      const to = file === '' ? path : relative(ROOT, join(ROOT, dirname(path), file))
      if (!existsSync(join(ROOT, to))) return true
      return anchor !== undefined && to.endsWith('.md') && !anchorsOf(textOf(to)).includes(anchor)
    })
    expect(links).toEqual([])
  })

  test('a heading that is cited after a page is there', () => {
    const cited = /docs\/([\w-]+\.md), ((?:[A-Z][\w-]*)(?: [a-z0-9][\w-]*){0,3})/g
    const isThere = (page: string, words: string) =>
      [
        ...headingsOf(textOf(`docs/${page}`)),
        ...[...textOf(`docs/${page}`).matchAll(/\*\*([^*]+)\*\*/g)].map(([, bold = '']) => bold),
      ].some((heading) => words.startsWith(heading.replace(/\.$/, '')) || heading.replace(/\.$/, '').startsWith(words))
    expect(
      wrong(cited, ([, page = '', words = '']) => existsSync(join(ROOT, 'docs', page)) && !isThere(page, words)),
    ).toEqual([])
  })
})

/** Head nouns of exported classes that an engineer of the field, or of TypeScript, knows. docs/glossary.md explains the others. */
const KNOWN_NOUNS = new Set(
  (
    'Addresses Advertiser Agent Alarm Announcements Announcer Answer Answers Api Asked Bucket Capture Changes Channel Check Checks ' +
    'Cleanup Client Clock Clocks Configuration Connection Counters Cutoff Daemon Deadline Detection Engine Error Events Examination Failure ' +
    'Faults File Files Filter Frr Gaps Gate Group Guardian Histogram History Holdfast Instance Interface Interfaces Keepalived Keeper ' +
    'Kernel Latencies Launchers Layer Limit Line Lines Listener Log Loop Machine Manager Memory Messages Monitor Name Names Namespaces ' +
    'Network Node Observer Output Page Passed Peers Places Ports Priority Probe Prober Process Programs Publisher Questions Queue Reader ' +
    'Receiver Reception Recorder Replay Report Requests Resolution Router Routers Runner Schedule Secondaries Secrets Section Service ' +
    'Sockets States Status Stream Streams Table Talker Thread Time Timers Values View Watch Wire Writer'
  ).split(' '),
)

describe('glossary', () => {
  const glossary = textOf('docs/glossary.md')
  const terms = new Set(
    [...glossary.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, term = '']) => term.toLowerCase().match(/[a-z]+/g) ?? []),
  )
  const sources = files.filter(({ path }) => path.startsWith('src/'))

  test('the head noun of every exported class is a known word or a term', () => {
    const classes = sources.flatMap(({ text }) =>
      [...text.matchAll(/^export (?:abstract )?class (\w+)/gm)].map(([, name = '']) => name),
    )
    expect(classes.length).toBeGreaterThan(100)
    const isTerm = (word: string) => terms.has(word) || terms.has(word.replace(/s$/, ''))
    const isExplained = (noun: string) => KNOWN_NOUNS.has(noun) || isTerm(noun.toLowerCase())
    expect(classes.filter((name) => !isExplained(/[A-Z][a-z]*$/.exec(name)?.[0] ?? name))).toEqual([])
  })

  test('every name of code in the glossary is in src', () => {
    const names = [...glossary.matchAll(/`([A-Za-z]*[a-z][A-Z]\w*|[A-Z][a-z]\w*)`/g)].map(([, name = '']) => name)
    expect(names.length).toBeGreaterThan(20)
    expect(names.filter((name) => !sources.some(({ text }) => new RegExp(`\\b${name}\\b`).test(text)))).toEqual([])
  })
})

describe('index of the decision records', () => {
  const HEADER = /\nDate: (\d{4}-\d\d-\d\d) · Status: ([^·\n]+?)(?: · Includes: ([\d, ]+))?\n\n/
  const rows = records.map((name) => {
    const text = textOf(`${ADR}/${name}`)
    const [, number, title] = /^# (\d{4}) (.+)$/m.exec(text) ?? []
    const [, date, status, includes] = HEADER.exec(text) ?? []
    const lines = text.trimEnd().split('\n').length
    return {
      name,
      number: name.slice(0, 4),
      heading: number,
      title,
      date,
      status,
      includes: includes?.split(', ') ?? [],
      lines,
      text,
    }
  })
  const parents = new Map(rows.flatMap(({ number, includes }) => includes.map((folded) => [folded, number] as const)))
  const last = Math.max(...[...numbers, ...parents.keys()].map(Number))
  const missing = Array.from({ length: last }, (_, at) => String(at + 1).padStart(4, '0')).filter(
    (at) => !numbers.has(at),
  )

  test('every record has number, decision, date and status in its first lines', () => {
    expect(
      rows.filter(({ number, heading, title, date, status }) => number !== heading || !title || !date || !status),
    ).toEqual([])
  })

  test('every record has context, decision, rejected alternatives and consequences within 120 lines', () => {
    const parts = ['## Context', '## Decision', '## Rejected', '## Consequences']
    expect(
      rows
        .filter(({ text, lines }) => lines > 120 || parts.some((part) => !text.includes(`\n${part}\n`)))
        .map(({ name }) => name),
    ).toEqual([])
  })

  test('a number that one record includes has no record of its own and no second parent', () => {
    const folded = rows.flatMap(({ includes }) => includes)
    expect(folded.filter((number) => numbers.has(number))).toEqual([])
    expect(folded.length).toBe(new Set(folded).size)
  })

  test('docs/adr/README.md has one line for each, and the place of each missing number', () => {
    const unused = missing.filter((number) => !parents.has(number))
    const nameOf = (number: string) => records.find((name) => name.startsWith(number))
    const made = [
      '# Decision records',
      '',
      'One decision a file: context, decision, what was rejected and why, consequences. A change of a decision is written into its record. A decision that',
      'replaces another one gets a new record, and the old one says so in its status. `make docs` writes this page.',
      '',
      '| number | decision | status |',
      '|---|---|---|',
      ...rows.map(({ name, number, title, status }) => `| [${number}](${name}) | ${title} | ${status} |`),
      '',
      'Numbers whose decision is a part of another record:',
      '',
      ...missing
        .filter((number) => parents.has(number))
        .map((number) => [number, parents.get(number) ?? ''] as const)
        .map(([number, parent]) => `- ${number} → [${parent}](${nameOf(parent)})`),
      '',
      `Numbers that no record ever had: ${unused.join(', ')}.`,
      '',
    ].join('\n')
    if (process.env.UPDATE_DOCS === '1') writeFileSync(join(ROOT, ADR, 'README.md'), made)
    expect(textOf(`${ADR}/README.md`), 'docs/adr/README.md is stale: make docs').toBe(made)
  })
})
