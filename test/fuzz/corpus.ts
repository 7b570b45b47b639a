/**
 * Inputs with which mutation begins: files of the tests and of docs/, read from the folder of the checkout, whether the fuzzer is compiled
 * or not.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const fileText = (path: string): string => readFileSync(path, 'utf8')

export const filesIn = (folder: string, ending: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(folder, name))

/** Returns every value of this key anywhere in a JSON file. */
export function valuesOf(path: string, key: string): readonly unknown[] {
  const found: unknown[] = []
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, each] of Object.entries(value)) {
      if (name === key) found.push(each)
      else look(each)
    }
  }
  look(JSON.parse(fileText(path)))
  return found
}
