/** `holdfast doctor` as a command: what it refuses to measure, and that its document names every check. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type DoctorOptions, doctorCommand } from '../../../src/cli/doctor/doctor.ts'
import { CHECKS } from '../../../src/doctor/finding.ts'

const options: DoctorOptions = {
  file: undefined,
  keepalived: false,
  interfaces: [],
  json: false,
  socket: '/run/holdfast/holdfast.sock',
  verbose: false,
  duration: undefined,
}

test.each(['', '5', '0.5s', '2h', 'soon'])('a duration of "%s" is refused', async (duration) => {
  const stderr = `holdfast: --duration: cannot use "${duration}", expected a duration from 1s to 1h\n`
  expect(await doctorCommand({ ...options, duration })).toEqual({ exitCode: 64, stdout: '', stderr })
})

test('a file that is wrong is told as check tells it', async () => {
  const file = join(import.meta.dirname, 'no-such-file.yaml')
  expect(await doctorCommand({ ...options, file })).toEqual({
    exitCode: 78,
    stdout: '',
    stderr: expect.stringMatching(/^.*no-such-file\.yaml: Cannot read the configuration: there is no such file/),
  })
})

test('an interface that is not there is one line', async () => {
  expect(await doctorCommand({ ...options, interfaces: ['lo', 'nosuch0'] })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'holdfast: Cannot examine "nosuch0": interface does not exist\n',
  })
})

test('docs/doctor.md has a row for every check, and for no other', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/doctor.md'), 'utf8')
  const table = text.slice(text.indexOf('| check |'), text.indexOf('**Silence proves nothing.**'))
  const named = [...table.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map((match) => match[1])
  expect(named.toSorted()).toEqual([...CHECKS].toSorted())
})
