/** Random templates: mostly valid ones, and some with a token in a wrong place. */
import fc from 'fast-check'

const FIELDS = [
  '.Name',
  '.Empty',
  '.Count',
  '.Zero',
  '.Yes',
  '.No',
  '.Peers',
  '.None',
  '.Numbers',
  '.Nested',
  '.Backends',
]
const TERMS = [
  ...FIELDS,
  '.',
  '$',
  '$x',
  '$.Name',
  '.Inner.Value',
  '.Address',
  '.Missing',
  '"a"',
  '`b`',
  '0',
  '1',
  '-1',
  'true',
]
const FUNCTIONS = [
  'and',
  'or',
  'not',
  'eq',
  'ne',
  'lt',
  'le',
  'gt',
  'ge',
  'len',
  'index',
  'print',
  'println',
  'printf "%v"',
]
const ODD = [
  '{{',
  '}}',
  '{{-',
  '-}}',
  '|',
  ',',
  ':=',
  '(',
  ')',
  '"',
  '.',
  '$',
  'end',
  'else',
  '/*',
  '*/',
  ' ',
  '\n',
  'nil',
  '%',
  "'",
]

const oneOf = (texts: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...texts)

const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    oneOf(TERMS),
    fc
      .tuple(oneOf(FUNCTIONS), fc.array(tie('expression'), { maxLength: 3 }))
      .map(([name, given]) => `(${[name, ...given].join(' ')})`),
    fc.tuple(tie('expression'), oneOf(FUNCTIONS)).map(([value, name]) => `(${value} | ${name})`),
  ),
}))

/** An expression without its outer parentheses, which an action does not need. */
const pipeline = expression.map((text) => (text.startsWith('(') ? text.slice(1, -1) : text))
const open = oneOf(['{{', '{{ ', '{{- '])
const close = oneOf(['}}', ' }}', ' -}}'])
const action = (inner: fc.Arbitrary<string>) => fc.tuple(open, inner, close).map((parts) => parts.join(''))

const { statements } = fc.letrec<{ statements: string; statement: string }>((tie) => ({
  statements: fc.array(tie('statement'), { maxLength: 4 }).map((each) => each.join('')),
  statement: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    oneOf(['text', ' ', '\n', ' a\t', '\r\n  b ']),
    action(pipeline),
    action(fc.tuple(oneOf(['$x := ', '$x = ', '$y := ', '']), pipeline).map((parts) => parts.join(''))),
    oneOf(['{{/* c */}}', ' {{- /* c */ -}} ', '{{break}}', '{{continue}}']),
    fc
      .tuple(
        action(
          fc
            .tuple(oneOf(['if ', 'with ', 'range ', 'range $i, $x := ', 'range $x := ']), pipeline)
            .map((p) => p.join('')),
        ),
        tie('statements'),
        oneOf(['', '{{else}}', '{{ else -}}', '{{else if .Yes}}', '{{else with .Name}}']),
        tie('statements'),
        oneOf(['{{end}}', '{{- end}}', '{{ end -}}']),
      )
      .map((parts) => parts.join('')),
  ),
}))

/** Random templates, every fourth of which has an odd piece in a random place. */
export const templateTexts: fc.Arbitrary<string> = fc
  .tuple(statements, fc.nat(3), fc.nat(), oneOf(ODD))
  .map(([text, chance, at, piece]) => {
    if (chance > 0) return text
    const place = at % (text.length + 1)
    return text.slice(0, place) + piece + text.slice(place)
  })
