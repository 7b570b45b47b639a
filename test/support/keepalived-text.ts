/**
 * Reads a keepalived text without a disk. A record contains the files that the text includes, and the node's interfaces
 * and addresses are always the same.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ParsedConfig } from '../../src/config/configuration.ts'
import { parseKeepalivedConfig } from '../../src/config/keepalived/configuration.ts'
import type { KeepalivedSource, Surroundings } from '../../src/config/keepalived/source.ts'

export const FILE = '/etc/keepalived/keepalived.conf'
const SAMPLES = join(import.meta.dirname, '../samples/keepalived')

export const NODE: Surroundings = {
  configId: 'node1',
  scriptUser: undefined,
  programPath: (name) => (name === 'true' ? '/bin/true' : undefined),
  random: () => 0.5,
}

/**
 * Returns a function that finds the files of an include pattern. A pattern with `*` at its end matches every file name
 * with that beginning.
 */
export const files =
  (texts: Readonly<Record<string, string>>): KeepalivedSource =>
  (pattern, directory) => {
    const path = pattern.startsWith('/') ? pattern : `${directory}/${pattern}`
    const names = Object.keys(texts).filter((name) =>
      path.endsWith('*') ? name.startsWith(path.slice(0, -1)) : name === path,
    )
    return { files: names.map((file) => ({ file, text: texts[file] ?? '' })), unreadable: [] }
  }

export const read = (text: string, others: Readonly<Record<string, string>> = {}): ParsedConfig =>
  parseKeepalivedConfig({ file: FILE, text }, files({ [FILE]: text, ...others }), NODE)

export const sample = (name: string): string => readFileSync(join(SAMPLES, `${name}.conf`), 'utf8')
