/**
 * Checks what a test requires: root, network namespaces or another VRRP daemon. If a requirement is missing, the test
 * is skipped, with the reason in its name. With REQUIRE_NETNS=1, REQUIRE_INTEROP=1 or REQUIRE_DOCKER=1 the test fails
 * instead; CI sets all of them. This file does not know the tests.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { probePath } from '../../src/lab/installation.ts'
import { engineAnswers } from './docker.ts'

const FOLDERS = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'].filter(Boolean)

/**
 * Returns true if the package's binary file exists. The package is not loaded, because it cannot be loaded twice into
 * one process.
 */
function isBuilt(name: string, binary: string): boolean {
  try {
    const require = createRequire(import.meta.url)
    return existsSync(join(require.resolve(`${name}/package.json`), '..', 'build', 'Release', binary))
  } catch {
    return false
  }
}

const BINARIES: Readonly<Record<string, string>> = { 'raw-socket': 'raw.node' }

/** Returns the path of the CoreDNS that scripts/setup.sh has built; `undefined` if there is none. */
export const corednsProgram = (): string | undefined => lookedUp('coredns.sh')

/** Returns the folder with the packages of a node's services that scripts/setup.sh has downloaded; `undefined` if there is none. */
export const nodePackages = (): string | undefined => lookedUp('node-packages.sh')

function lookedUp(script: string): string | undefined {
  const path = join(import.meta.dirname, '..', '..', 'scripts', script)
  const { status, stdout } = spawnSync(path, ['--look'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

const isHere = (tool: string): boolean => {
  if (tool === 'a Docker engine') return engineAnswers()
  if (tool === 'CoreDNS') return corednsProgram() !== undefined
  if (tool === 'packages of a node') return nodePackages() !== undefined
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

/** Describes tests that need the optional package raw-socket, which scripts/setup.sh test builds. */
export function describeRawSocket(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['ip', 'raw-socket'], name, body)
}

export function describeCapture(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['ip', 'tshark'], name, body)
}

/** Describes tests of Prometheus rules, which need the program promtool and no privileges. */
export function describePrometheus(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['promtool'], name, body)
}

/** Describes tests with a running Prometheus and with nodes that it scrapes. */
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

/** Describes tests with a running CoreDNS, a DNS client, and other services of DNS. */
export function describeDns(name: string, body: () => void, tools: readonly string[] = []): void {
  describeWith('REQUIRE_INTEROP', ['ip', 'dig', 'CoreDNS', ...tools], name, body)
}

/** Describes tests of HAProxy's monitor, with HAProxy and the rules of the kernel. */
export function describeBalancer(name: string, body: () => void): void {
  describeWith('REQUIRE_INTEROP', ['ip', 'haproxy', 'nft', 'openssl', 'curl'], name, body)
}

/**
 * Describes tests with containers of holdfast's image. `tools` are programs of this machine that the test uses in the
 * containers' network namespaces.
 */
export function describeContainer(name: string, body: () => void, tools: readonly string[] = []): void {
  describeWith('REQUIRE_DOCKER', ['docker', 'a Docker engine', ...tools], name, body)
}

/** Describes tests with a web browser that shows a status page. */
export function describePage(name: string, body: () => void): void {
  describeWith('REQUIRE_NETNS', ['ip', 'chromium'], name, body)
}
