/**
 * Plain English (docs/style.md), held by counts: words that the guide replaces, sentences of more than 30 words, and sentences that begin
 * with a word for a thing of the sentence before. A file may not have more of these than test/style-baseline.json says. `UPDATE_STYLE=1`
 * writes lower counts down and refuses higher ones.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Prose, proseOf, sentencesOf, wordsIn } from './support/prose.ts'

const ROOT = join(import.meta.dirname, '..')
const BASELINE = join(ROOT, 'test/style-baseline.json')
const TEXT = /\.(?:ts|js|mjs|cjs|c|h|sh|md|yaml|yml|service|example)$|(?:^|\/)(?:Makefile|Dockerfile)$/
const FOLDERS = ['src', 'native', 'docs', 'test', 'bench', 'scripts', 'deploy']
const ALONE = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'Makefile',
  'Dockerfile',
  'vitest.config.ts',
]
const LONGEST = 30

/** Texts of others, made files, and the two files that have to name the words. */
const LEFT_OUT = [
  'bench/results/',
  'docs/style.md',
  'native/fuzz/inputs/',
  'test/conformance/vectors/',
  'test/fuzz/regressions/',
  'test/samples/',
  'test/simulator/scenarios/',
  'test/style.test.ts',
]

/** What docs/style.md replaces in prose, by the rule that replaces it. A path is no prose. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  'a subject with a name (rule 1)': [
    'whoever',
    'whosoever',
    'somebody',
    'nobody',
    'anybody',
    'everybody',
    'one that',
    'he',
    'him',
    'his',
    'himself',
  ],
  'words of today (rule 6)': [
    'anew',
    'thereby',
    'thereof',
    'whence',
    'henceforth',
    'all the same',
    'to and fro',
    'at once',
    'of late',
    'any more',
    'no more than that',
    'told of',
    '(?:is|are|was|were|be|been|being) told',
    'hears? of',
    'heard of',
    'come[s]? to (?:the same|no|nothing|more|less|what)',
  ],
  'the word of the field (rule 4)': [
    'last wills?',
    'bequests?',
    'bequeath\\w*',
    'heirs?',
    'forsaken',
    'lapse[sd]?',
    'radar',
    'roll calls?',
    'claim tap',
    'rivals?',
    'strangers?',
    'outposts?',
    'roster',
    'verdicts?',
    'fates?',
    'doors?',
    'guests?',
    'beacons?',
    'linger(?:s|ed|ing)?',
  ],
}
/** The words of rule 4 are wrong in names as well. */
const IN_NAMES = 'the word of the field (rule 4)'
/** A sentence that begins so has no subject, unless it is a question. */
const NO_SUBJECT = /^["(*_]*(?:Who|Whose|Whom|Whoever|What|Nobody|Somebody)\b[^?]*$/

/**
 * A sentence that begins so leans on the sentence before it. A reader of this sentence alone cannot know what "it" or "both" is. The count
 * looks only at the first words: a pronoun inside a sentence may lean as well.
 */
const LEANS =
  /^["'(*_-]*\s*(?:(?:So|Then|Both|It|They|That|These|Those|None|Neither|There|Its|Their|Another|Otherwise|Therefore|Such|Afterwards|Meanwhile|Instead|But|And|The (?:others?|latter|former)|After that|In (?:that|this) case|With(?:out)? it)\b|If (?:not|so),)[^?]*$/

/** Where a word of the list is right, and why. `files` is the beginning of a path. */
const EXCEPTIONS: readonly { readonly files: string; readonly text: RegExp; readonly why: string }[] = [
  { files: '', text: /\ball at once\b/gi, why: 'means together, not immediately' },
  {
    files: '',
    text: /^(?:radar|probe rivals|announce on rival|on rival)$/i,
    why: 'keys of the configuration, which keep their names',
  },
  { files: 'docs/profiles.md', text: /^radar$/, why: 'the heading is a key' },
  { files: '', text: /\bguest (?:addresses|cluster)\b/gi, why: 'a guest of a hypervisor' },
]

const escaped = (forms: readonly string[]) => new RegExp(`(?<![\\w/-])(?:${forms.join('|')})(?![\\w-])`, 'gi')
const ALL_FORMS = escaped(Object.values(FORMS).flat())
const NAME_FORMS = escaped(FORMS[IN_NAMES] ?? [])

interface Counts {
  readonly words: readonly string[]
  readonly long: readonly string[]
  readonly leaning: readonly string[]
}

function judge(path: string, prose: Prose): Counts {
  const excused = (text: string) =>
    EXCEPTIONS.filter(({ files }) => path.startsWith(files)).reduce(
      (left, { text: right }) => left.replace(right, ''),
      text,
    )
  const lines = [...prose.sentences, ...prose.texts]
  const words = [
    ...[...lines, ...prose.headings].flatMap((line) => excused(line).match(ALL_FORMS) ?? []),
    ...lines.filter((line) => NO_SUBJECT.test(line)).map((line) => line.slice(0, 40)),
    ...prose.names.flatMap((name) => excused(name).match(NAME_FORMS) ?? []),
  ]
  return {
    words: words.sort(),
    long: prose.sentences.filter((sentence) => wordsIn(sentence) > LONGEST),
    leaning: prose.sentences.filter((sentence) => LEANS.test(sentence)),
  }
}

function below(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : below(path)
    return [path]
  })
}

const paths = [...FOLDERS.flatMap(below), ...ALONE]
  .filter((path) => TEXT.test(path) && !LEFT_OUT.some((start) => path.startsWith(start)))
  .sort()
const found = new Map(paths.map((path) => [path, judge(path, proseOf(path, readFileSync(join(ROOT, path), 'utf8')))]))

/** `src/daemon`, `docs`: text may move from file to file within an area. */
const areaOf = (path: string): string => path.split('/').slice(0, -1).slice(0, 2).join('/')

type Kind = keyof Counts
type Baseline = Readonly<Record<string, Readonly<Record<Kind, number>>>>
const baseline: Baseline = Object.fromEntries(
  Object.entries(JSON.parse(readFileSync(BASELINE, 'utf8')) as Record<string, [number, number, number]>).map(
    ([path, [words, long, leaning]]) => [path, { words, long, leaning }],
  ),
)

function sumByArea(counts: Iterable<readonly [path: string, count: number]>): Map<string, number> {
  const sums = new Map<string, number>()
  for (const [path, count] of counts) sums.set(areaOf(path), (sums.get(areaOf(path)) ?? 0) + count)
  return sums
}

/** Returns a line for each file with more than the baseline allows, in areas that have more in all. */
function grown(kind: Kind, now: ReadonlyMap<string, Counts>, allowed: Baseline): string[] {
  const before = sumByArea(Object.entries(allowed).map(([path, counts]) => [path, counts[kind]]))
  const after = sumByArea([...now].map(([path, counts]) => [path, counts[kind].length]))
  return [...now].flatMap(([path, { [kind]: found }]) => {
    const most = allowed[path]?.[kind] ?? 0
    if (found.length <= most || (after.get(areaOf(path)) ?? 0) <= (before.get(areaOf(path)) ?? 0)) return []
    return [`${path}: ${found.length} instead of ${most}: ${found.map((text) => JSON.stringify(text)).join(', ')}`]
  })
}

function written(): string {
  const lines = [...found]
    .filter(([, { words, long, leaning }]) => words.length + long.length + leaning.length > 0)
    .map(
      ([path, { words, long, leaning }]) =>
        `  ${JSON.stringify(path)}: [${words.length}, ${long.length}, ${leaning.length}]`,
    )
  return `{\n${lines.join(',\n')}\n}\n`
}

describe('plain English', () => {
  test('no area has more words of the list than the baseline', () => {
    expect(grown('words', found, baseline), 'docs/style.md has the words to use instead').toEqual([])
  })

  test('no area has more sentences of over 30 words than the baseline', () => {
    expect(grown('long', found, baseline), 'make two sentences of each').toEqual([])
  })

  test('no area has more sentences that lean on the sentence before than the baseline', () => {
    expect(grown('leaning', found, baseline), 'name the thing, or join the sentence with its reason').toEqual([])
  })

  test('no page has more than 250 lines, and README.md not more than 150', () => {
    const linesOf = (path: string) => readFileSync(join(ROOT, path), 'utf8').split('\n').length - 1
    const pages = paths.filter((path) => path.startsWith('docs/') && path.endsWith('.md'))
    expect(pages.length).toBeGreaterThan(40)
    expect(pages.filter((path) => linesOf(path) > 250)).toEqual([])
    expect(linesOf('README.md')).toBeLessThanOrEqual(150)
  })

  test('UPDATE_STYLE=1 writes the baseline', () => {
    if (process.env.UPDATE_STYLE !== '1') return
    const kinds: readonly Kind[] = ['words', 'long', 'leaning']
    expect(kinds.flatMap((kind) => grown(kind, found, baseline))).toEqual([])
    writeFileSync(BASELINE, written())
  })
})

describe('what the baseline allows', () => {
  const counts = (words: number): Counts => ({
    words: Array.from({ length: words }, () => 'nobody'),
    long: [],
    leaning: [],
  })
  const before: Baseline = {
    'area/a': { words: 2, long: 0, leaning: 0 },
    'area/b': { words: 1, long: 0, leaning: 0 },
  }

  test('a file with more than before is named', () => {
    const now = new Map([
      ['area/a', counts(3)],
      ['area/b', counts(1)],
    ])
    expect(grown('words', now, before)).toEqual(['area/a: 3 instead of 2: "nobody", "nobody", "nobody"'])
  })

  test('text may move to another file of its area', () => {
    expect(grown('words', new Map([['area/c', counts(3)]]), before)).toEqual([])
    expect(grown('words', new Map([['other/c', counts(3)]]), before)).toHaveLength(1)
  })

  test('fewer than before is no failure', () => {
    expect(grown('words', new Map([['area/a', counts(0)]]), before)).toEqual([])
  })
})

describe('how prose is read', () => {
  const one = (path: string, text: string) => judge(path, proseOf(path, text))

  test('a comment, a message and a name are judged, a copied text and a key are not', () => {
    const source = [
      '/** Somebody answers for `nobody`. */',
      "const lastWill = 'the engine is told nothing'",
      "const key = 'radar' // Says it anew.",
      "import './stranger.ts'",
    ].join('\n')
    expect(one('source.ts', source).words).toEqual([
      'Somebody',
      'Somebody answers for X.',
      'anew',
      'is told',
      'last will',
    ])
  })

  test('in a test, the names of tests are judged and the data are not', () => {
    const source = "test.each([1])('nobody answers', () => { expect(x).toBe('a stranger answers') })"
    expect(one(`test/${'names'}.ts`, source).words).toEqual(['nobody'])
  })

  test('in a page, code and its blocks are left out, and a question may begin with who', () => {
    const text = 'Who has it?\n\n```\nnobody\n```\n\n| `nobody` | rival |\n\nWho asks gets an answer. It is told.\n'
    expect(one('page.md', text).words).toEqual(['Who asks gets an answer.', 'is told', 'rival'])
  })

  test('a sentence ends at its full stop, at an empty line and before a list item', () => {
    expect(sentencesOf('One is\nhere. Two (see 6.4.2) is there.\n\n- three\n- four')).toEqual([
      'One is here.',
      'Two (see 6.4.2) is there.',
      '- three',
      '- four',
    ])
  })

  test('a sentence leans on the one before if it begins with a word for a thing of that sentence', () => {
    const leaning =
      'The agent stops. It is slow. So the VIP moves. - Both answer. If not all answer, it waits. If not, it ends.'
    expect(one('page.md', leaning.replaceAll('. ', '.\n\n')).leaning).toEqual([
      'It is slow.',
      'So the VIP moves.',
      '- Both answer.',
      'If not, it ends.',
    ])
    expect(one('source.ts', '/** Returns the time. Otherwise `undefined`. */').leaning).toEqual(['Otherwise X.'])
    expect(one('page.md', 'Soon the agent stops.\n\nIs it slow?\n\nThat the VIP stays is a promise?').leaning).toEqual(
      [],
    )
  })

  test('a sentence of 31 words is too long in a comment of several lines', () => {
    const words = Array.from({ length: 31 }, (_, at) => `w${at}`)
    const comment = `// ${words.slice(0, 20).join(' ')}\n// ${words.slice(20).join(' ')}.`
    expect(one('source.ts', comment).long).toHaveLength(1)
    expect(one('source.ts', comment.replace('w30', '')).long).toHaveLength(0)
  })
})
