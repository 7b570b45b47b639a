/**
 * The file by which `holdfast corednsmonitor` reports to the agent of the same node. A monitor that ends removes the file;
 * after a crash the file becomes too old.
 */
import { rmSync, statSync } from 'node:fs'
import { type DnsReport, reportIn, reportText } from '../../decisions/dns/dns-report.ts'
import { replaceFile } from '../fact-file.ts'
import { textIn } from '../machine.ts'

export class DnsReportFile {
  readonly #file: string
  readonly #everyMs: number

  /** `everyMs`: longest time in milliseconds between two reports. */
  constructor(file: string, everyMs: number) {
    this.#file = file
    this.#everyMs = everyMs
  }

  /** Throws the error of the file system. */
  write(report: DnsReport): void {
    replaceFile(this.#file, reportText(report, this.#everyMs))
  }

  remove(): void {
    rmSync(this.#file, { force: true })
  }
}

/** Returns the report of the monitor on this node; `undefined` if there is none that can be believed. */
export function dnsReportOf(file: string): DnsReport | undefined {
  const text = textIn(file)
  if (text === undefined) return undefined
  try {
    return reportIn(text, Date.now() - statSync(file).mtimeMs)
  } catch {
    // The file was removed, or its folder may no longer be read.
    return undefined
  }
}
