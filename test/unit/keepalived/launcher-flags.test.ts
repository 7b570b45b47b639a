/**
 * The part of bin/holdfast that scripts/launcher-flags.mjs generates from keepalived's table and the options of `run`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { optionsWithValue, withFlags } from '../../../scripts/launcher-flags.mjs'
import { registerRun } from '../../../src/cli/commands/run.ts'
import { FLAGS } from '../../../src/keepalived/flags.ts'

const launcher = readFileSync(join(import.meta.dirname, '..', '..', '..', 'bin', 'holdfast'), 'utf8')

function runOptions(): readonly string[] {
  const program = new Command()
  registerRun(program, () => {})
  return optionsWithValue(program)
}

test('bin/holdfast reads the flags of the table', () => {
  expect(runOptions()).toContain('--run-directory')
  expect(withFlags(launcher, FLAGS, runOptions()), 'bin/holdfast is stale: run make docs and commit it').toBe(launcher)
})

test('a new flag in the table, or in the options of run, changes bin/holdfast', () => {
  const flag = { short: 'z', long: 'zone', value: 'wanted', handling: 'done', says: 'a test' } as const
  expect(withFlags(launcher, [...FLAGS, flag], runOptions())).toMatch(
    /--zone\) value=yes[\s\S]*\| z\) \[ -n "\$rest" \]/,
  )
  expect(withFlags(launcher, FLAGS, [...runOptions(), '--zone'])).toContain('--zone) value=yes')
})

test('a launcher without the marks is an error', () => {
  expect(() => withFlags('#!/bin/sh\n', FLAGS, [])).toThrow('Cannot find the marks')
})
