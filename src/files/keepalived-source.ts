/**
 * Provides facts about this node that a keepalived file needs: included files, the host name, the user of scripts, and
 * programs on the PATH. Only regular files without execute permission are read, as in keepalived, and no file above a
 * size. This file knows nothing about the content of the files.
 */

import { accessSync, closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { messageOf } from '../base/message-of.ts'
import type { Inclusion, KeepalivedSource, Surroundings } from '../config/keepalived/source.ts'
import { alternatives, isWild, matcherOf } from '../config/keepalived/text/glob.ts'

const LARGEST = 4 * 1024 * 1024
const PATHS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
const SCRIPT_USER = 'keepalived_script'

/** Returns the properties of this node that a keepalived file may use. */
export function surroundingsHere(configId = hostname().replace(/\..*$/, '')): Surroundings {
  return {
    configId,
    scriptUser: hasUser(SCRIPT_USER) ? SCRIPT_USER : undefined,
    programPath: (name) => PATHS.map((path) => join(path, name)).find(isProgram),
    random: Math.random,
  }
}

/** Returns the files that match the pattern of an include. */
export const keepalivedSource: KeepalivedSource = (pattern, directory) => {
  const files: Inclusion['files'][number][] = []
  const unreadable: Inclusion['unreadable'][number][] = []
  for (const alternative of alternatives(pattern)) {
    const whole = isAbsolute(alternative) ? alternative : join(directory, alternative)
    for (const file of matching(whole)) {
      const text = readIncluded(file)
      if ('reason' in text) unreadable.push({ file, reason: text.reason })
      else files.push({ file, text: text.text })
    }
  }
  return { files, unreadable }
}

/** Returns the existing files that match a pattern, sorted by name, without directories. */
function matching(pattern: string): readonly string[] {
  let found = [pattern.startsWith('/') ? '/' : '.']
  const segments = pattern.split('/').filter((segment) => segment !== '')
  for (const segment of segments) {
    if (!isWild(segment)) found = found.map((path) => join(path, segment))
    else {
      const matches = matcherOf(segment)
      found = found.flatMap((path) =>
        namesIn(path)
          .filter(matches)
          .sort()
          .map((name) => join(path, name)),
      )
    }
  }
  return found.filter(isFile)
}

function isFile(path: string): boolean {
  try {
    return !statSync(path).isDirectory()
  } catch {
    return false
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** Reads an included file. Reading never blocks: a pipe without a writer is not read. */
export function readIncluded(file: string): { readonly text: string } | { readonly reason: string } {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const { size, mode } = fstatSync(descriptor)
      const isRegular = (mode & constants.S_IFMT) === constants.S_IFREG
      if (!isRegular || (mode & 0o111) !== 0) return { reason: 'it is not a regular file without execute permission' }
      if (size > LARGEST) return { reason: `the file has ${size} octets, and the limit is ${LARGEST}` }
      return { text: readFileSync(descriptor, 'utf8') }
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    return { reason: messageOf(error) }
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function hasUser(name: string): boolean {
  try {
    return readFileSync('/etc/passwd', 'utf8').includes(`\n${name}:`)
  } catch {
    return false
  }
}
