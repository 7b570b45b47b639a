/**
 * Writes the folder of results: failover.json, and from it failover.md and one picture for each interval and address
 * family, as SVG and PNG. This file decides the names of the files. A reader never finds an incomplete file. This file
 * does not know how a figure was measured.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inPage } from './overview.ts'
import { excerpts, picture } from './picture.ts'
import { markdown } from './report.ts'
import { type Result, resultText } from './result.ts'

/** Pixels of the PNG for each pixel of the SVG, in both directions. */
const ZOOM = '2'

const at = (folder: string, name: string) => join(folder, name)

function write(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

export function readResult(folder: string): Result | undefined {
  const path = at(folder, 'failover.json')
  if (!existsSync(path)) return undefined
  const result: Result = JSON.parse(readFileSync(path, 'utf8'))
  if (result.format !== 2) throw new Error(`Cannot read "${path}": format ${result.format ?? 'unknown'}, wanted 2`)
  return result
}

export function writeResult(folder: string, result: Result): void {
  mkdirSync(folder, { recursive: true })
  write(at(folder, 'failover.json'), resultText(result))
}

/** Replaces the table in the page. Throws if the page is missing, or has no comment that marks the table. */
export function renderPage(path: string, result: Result): void {
  write(path, inPage(readFileSync(path, 'utf8'), result))
}

/** Writes the report and the pictures. Returns the files that could not be made, with the reason. */
export function render(folder: string, result: Result): readonly string[] {
  mkdirSync(folder, { recursive: true })
  write(at(folder, 'failover.md'), markdown(result))
  return excerpts(result).flatMap((excerpt) => {
    const svg = picture(result, excerpt)
    if (svg === undefined) return []
    const name = `failover-${excerpt.intervalMs}ms-ipv${excerpt.family}`
    write(at(folder, `${name}.svg`), svg)
    const argv = ['--zoom', ZOOM, '--output', at(folder, `${name}.png`), at(folder, `${name}.svg`)]
    const { error, status, stderr } = spawnSync('rsvg-convert', argv, { encoding: 'utf8' })
    return status === 0 ? [] : [`${name}.png: ${error?.message ?? stderr.trim()}`]
  })
}
