/**
 * install.sh after an interrupted run, with a small tree in place of holdfast's, in a folder of the test. test/netns/release.test.ts
 * installs the real tarball under systemd.
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const DEPLOY = join(import.meta.dirname, '..', '..', '..', 'deploy', 'systemd')
const UNITS = ['holdfast.service', 'holdfast-resign.service']

function write(file: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}

const unitText = (unit: string, version: string) => `${readFileSync(join(DEPLOY, unit), 'utf8')}# version ${version}\n`

/** Writes a tree of this version. `check` is the exit status with which it judges a configuration. */
function writeTree(folder: string, version: string, check = 0): void {
  const program = `case $1 in check) exit ${check} ;; --version) echo ${version} ;; esac`
  write(join(folder, 'bin', 'holdfast'), `#!/bin/sh\n${program}\n`, 0o755)
  write(join(folder, 'runtime', 'node'), '#!/bin/sh\n', 0o755)
  write(join(folder, 'dist', 'bundle', 'main.js'), '')
  for (const unit of UNITS) write(join(folder, 'deploy', 'systemd', unit), unitText(unit, version))
  write(join(folder, 'deploy', 'systemd', 'holdfast.yaml.example'), '')
}

type Interrupted = {
  /** Versions in the folders `holdfast`, `holdfast.old` and `holdfast.new`. */
  readonly trees: Readonly<Record<string, string>>
  readonly unit: string
  readonly unitOld?: string
}

function setUp({ trees, unit, unitOld }: Interrupted) {
  const home = mkdtempSync(join(tmpdir(), 'hf-install-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const root = join(home, 'root')
  const opt = (name: string) => join(root, 'opt', name)
  const system = (name: string) => join(root, 'etc', 'systemd', 'system', name)
  for (const [name, version] of Object.entries(trees)) writeTree(opt(name), version)
  for (const each of UNITS) write(system(each), unitText(each, unit))
  if (unitOld !== undefined) write(system('holdfast.service.old'), unitText('holdfast.service', unitOld))
  // The test needs no root.
  write(join(home, 'path', 'id'), '#!/bin/sh\necho 0\n', 0o755)
  write(join(home, 'path', 'chown'), '#!/bin/sh\n', 0o755)
  return {
    install(version: string, check: number) {
      const source = join(home, version)
      writeTree(source, version, check)
      copyFileSync(join(DEPLOY, 'install.sh'), join(source, 'install.sh'))
      const env = { PATH: `${join(home, 'path')}:${process.env.PATH}` }
      return spawnSync(join(source, 'install.sh'), ['--root', root], { encoding: 'utf8', env })
    },
    versions: () => ({
      tree: /echo (\S+)/.exec(readFileSync(join(opt('holdfast'), 'bin', 'holdfast'), 'utf8'))?.[1],
      units: UNITS.map((each) => /# version (\S+)/.exec(readFileSync(system(each), 'utf8'))?.[1]),
    }),
    left: () => [opt('holdfast.old'), opt('holdfast.new'), system('holdfast.service.old')].filter(existsSync),
    command: () => readlinkSync(join(root, 'usr', 'local', 'bin', 'holdfast')),
  }
}

test.each<Interrupted & { readonly when: string }>([
  {
    when: 'between the moves of the old and the new tree',
    ...{ trees: { 'holdfast.old': 'one', 'holdfast.new': 'two' }, unit: 'one', unitOld: 'one' },
  },
  {
    when: 'after the swap',
    ...{ trees: { holdfast: 'two', 'holdfast.old': 'one' }, unit: 'two', unitOld: 'one' },
  },
  {
    when: 'while the old tree came back',
    ...{ trees: { 'holdfast.new': 'two', 'holdfast.old': 'one' }, unit: 'two', unitOld: 'one' },
  },
  { when: 'before the old unit came back', trees: { holdfast: 'one' }, unit: 'two', unitOld: 'one' },
])('after an interruption $when, the old version is back before another one is tried', (interrupted) => {
  const { command, install, left, versions } = setUp(interrupted)
  const refused = install('three', 1)
  expect(refused, refused.stderr).toMatchObject({ status: 1, stdout: expect.stringContaining('was interrupted') })
  expect(versions()).toEqual({ tree: 'one', units: ['one', 'one'] })
  expect(command()).toBe('/opt/holdfast/bin/holdfast')
  expect(left()).toEqual([])
  expect(install('four', 0)).toMatchObject({ status: 0, stdout: expect.not.stringContaining('was interrupted') })
  expect(versions()).toEqual({ tree: 'four', units: ['four', 'four'] })
  expect(left()).toEqual([])
})
