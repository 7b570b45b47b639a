/**
 * Where a test needs root, namespaces or a neighbour daemon: it is skipped with the reason in its name, unless
 * REQUIRE_NETNS=1, REQUIRE_INTEROP=1 or REQUIRE_DOCKER=1 turns what is missing into a failure (CI sets all). Refuses to know the tests.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { probePath } from '../../src/lab/installation.ts'
import { engineAnswers } from './docker.ts'

const FOLDERS = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'].filter(Boolean)

/** Asks for the file: loading such a package into the test's process is nothing that it supports twice. */
function isBuilt(name: string, binary: string): boolean {
  try {
    const require = createRequire(import.meta.url)
    return existsSync(join(require.resolve(`${name}/package.json`), '..', 'build', 'Release', binary))
  } catch {
    return false
  }
}

const BINARIES: Readonly<Record<string, string>> = { 'raw-socket': 'raw.node' }

const isHere = (tool: string): boolean => {
  if (tool === 'a Docker engine') return engineAnswers()
  const binary = BINARIES[tool]
  return binary === undefined ? FOLDERS.some((folder) => existsSync(join(folder, tool))) : isBuilt(tool, binary)
}

function missingOf(tools: readonly string[]): string[] {
  const missing = tools.filter((tool) => !isHere(tool))
  if (process.getuid?.() !== 0) missing.unshift('root')
  try {
    probePath()
  } catch {
    missing.push('holdfast-probe')
  }
  return missing
}

function describeWith(variable: string, tools: readonly string[], name: string, body: () => void): void {
  const missing = missingOf(tools)
  if (missing.length === 0) describe(name, body)
  else if (process.env[variable] === '1') {
    describe(name, () => {
      test(`this machine has what ${variable}=1 promises`, () => expect(missing, 'missing here').toEqual([]))
    })
  } else describe.skipIf(true)(`${name} (missing here: ${missing.join(', ')})`, body)
}

export function describeNetns(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['ip'], name, body)
}

/** The optional package must be built (scripts/setup.sh test). */
export function describeRawSocket(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['ip', 'raw-socket'], name, body)
}

export function describeCapture(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['ip', 'tshark'], name, body)
}

/** No privilege is needed: what a rule says is a question to a program. */
export function describePrometheus(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['promtool'], name, body)
}

/** A Prometheus, and nodes for it to scrape. */
export function describePrometheusLab(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['ip', 'nft', 'curl', 'prometheus'], name, body)
}

export function describeInterop(name: string, body: () => void): void {
  describeWith('REQUIRE_INTEROP', ['ip', 'keepalived', 'dumpcap', 'tshark'], name, body)
}

export function describeFrr(name: string, body: () => void): void {
  describeWith('REQUIRE_INTEROP', ['ip', 'vtysh', 'dumpcap', 'tshark'], name, body)
}

export function describeHaproxy(name: string, body: () => void): void {
  describeWith('REQUIRE_INTEROP', ['ip', 'haproxy'], name, body)
}

/** Containers of the real image; a tool more for those who look at their networks from the machine. */
export function describeContainer(name: string, body: () => void, tools: readonly string[] = []): void {
  describeWith('REQUIRE_DOCKER', ['docker', 'a Docker engine', ...tools], name, body)
}

/** A browser that looks at a status page. */
export function describePage(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['ip', 'chromium'], name, body)
}
