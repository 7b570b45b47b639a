/**
 * `holdfast node-ip show | set | explain`, in place of runtimecfg's command: prints the node's own address, writes it
 * to the files that other programs read, or explains the choice for each address. This file decides when the tables are
 * read again, and that files are replaced atomically. The address is chosen in cluster/decisions/node-ip.
 */

import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT } from '../app/exit-code.ts'
import { messageOf } from '../base/message-of.ts'
import { type NodeFile, nodeFiles, PRIMARY } from '../cluster/decisions/node-ip/files.ts'
import { environmentIn, type Hint, hintIn } from '../cluster/decisions/node-ip/hint.ts'
import { type Selection, selectNodeAddresses, type Wishes } from '../cluster/decisions/node-ip/selection.ts'
import { type Address, familyOf, parseAddress } from '../wire/address.ts'
import type { CommandResult } from './command.ts'
import { readNodeTables } from './node-tables.ts'

export type NodeIpOptions = {
  /** VIPs from the command line. If the command line has a hint, the hint is the first. */
  readonly values: readonly string[]
  readonly retryOnFailure?: boolean
  readonly preferIpv6?: boolean
  readonly networkType: string
  readonly userManagedLb?: boolean
  readonly platform: string
  readonly hintFile: string
  /** Root folder under which the files are written. The addresses are always those of this machine. */
  readonly root: string
  readonly json?: boolean
}

/**
 * Seconds between two reads of the kernel's tables while the address is tentative. IPv6 duplicate address detection
 * mostly ends after one second.
 */
const TENTATIVE_PAUSE = 1
/**
 * Seconds after which a tentative address is an error. If duplicate address detection found another host, the address
 * stays tentative for ever.
 */
const LONGEST_TENTATIVE = 10
const FIRST_PAUSE = 2
const LONGEST_PAUSE = 300

type Question = { readonly wishes: Wishes; readonly hint: Hint }

export async function nodeIpCommand(
  action: 'show' | 'set' | 'explain',
  options: NodeIpOptions,
): Promise<CommandResult> {
  const question = questionOf(options)
  if (typeof question === 'string') return { exitCode: EXIT.usage, stdout: '', stderr: `holdfast: ${question}\n` }
  if (action === 'explain') {
    const selection = look(question.wishes)?.selection
    return selection === undefined ? unread() : explain(selection, question, options)
  }
  if (action === 'set') {
    const known = knownPrimary(options.root)
    if (known !== undefined)
      return say(`${known} was chosen earlier in this boot (${join(options.root, PRIMARY)}); nothing changed\n`)
  }
  const selection = await selected(question.wishes, options.retryOnFailure === true)
  if (selection === undefined) return unread()
  if (typeof selection === 'string') return fail(selection)
  const [first] = selection.chosen
  if (first === undefined) return nobody()
  if (action === 'show') return say(options.json === true ? `${JSON.stringify(selection, null, 2)}\n` : `${first}\n`)
  return set(selection, question, options)
}

function questionOf(options: NodeIpOptions): Question | string {
  const values = options.values.map(parseAddress)
  const wrong = values.indexOf(undefined)
  if (wrong >= 0) return `"${options.values[wrong]}": not an IP address`
  const file = join(options.root, options.hintFile)
  const hint = hintIn([
    { name: 'the environment', variables: process.env },
    { name: file, variables: environmentIn(textOf(file) ?? '') },
  ])
  if (typeof hint === 'string') return hint
  const given = values.flatMap((value) => value ?? [])
  // The service of the Machine Config Operator passes the hint before the VIPs.
  const isHinted = hint.addresses.every((address, i) => given[i] === address)
  const wishes = {
    hints: hint.addresses,
    vips: isHinted ? given.slice(hint.addresses.length) : given,
    preferIpv6: options.preferIpv6 === true,
    ovn: options.networkType.toLowerCase() === 'ovnkubernetes',
  }
  return { wishes, hint }
}

function look(wishes: Wishes): { selection: Selection; tentative: readonly Address[] } | undefined {
  const tables = readNodeTables()
  if (tables === undefined) return undefined
  return { selection: selectNodeAddresses(tables.view, wishes), tentative: tables.tentative }
}

/**
 * Returns the chosen addresses of the node; an error text if a chosen address cannot be used; `undefined` if the
 * kernel's tables could not be read. If `patient` is true, waits until the node has an address; otherwise the choice
 * may be empty.
 */
async function selected(wishes: Wishes, patient: boolean): Promise<Selection | string | undefined> {
  for (let pause = FIRST_PAUSE, tentative = 0; ; ) {
    const seen = look(wishes)
    const first = seen?.selection.chosen[0]
    if (first !== undefined && seen?.tentative.includes(first) === true) {
      tentative += TENTATIVE_PAUSE
      if (!patient && tentative > LONGEST_TENTATIVE)
        return `${first} is still tentative, so it cannot be used; perhaps another host has it`
      await sleep(TENTATIVE_PAUSE * 1_000)
      continue
    }
    if (first !== undefined || !patient) return seen?.selection
    process.stderr.write(`holdfast: no usable address yet; next attempt in ${pause} s\n`)
    await sleep(pause * 1_000)
    pause = Math.min(2 * pause, LONGEST_PAUSE)
  }
}

function set(selection: Selection, { wishes }: Question, options: NodeIpOptions): CommandResult {
  const files = nodeFiles({
    chosen: selection.chosen,
    matches: selection.matches,
    vips: [...wishes.hints, ...wishes.vips],
    userManagedLoadBalancer: options.userManagedLb === true,
    platform: options.platform,
  })
  const changed = files.filter(({ path, content }) => textOf(join(options.root, path)) !== content)
  let lines: readonly string[] = []
  let warnings: readonly string[] = []
  try {
    // No file of an earlier choice is replaced before all files of the new choice are on the disk.
    for (const file of changed) prepare(options.root, file)
    if (options.root === '/' && selection.link !== undefined) warnings = forward(selection.link, selection.chosen)
    // The file of the primary address announces the choice, so it is the last one.
    lines = changed.map((file) => put(options.root, file))
  } catch (error) {
    for (const { path } of changed) removePrepared(nextTo(options.root, path))
    const reason = messageOf(error)
    return {
      exitCode: EXIT.failure,
      stdout: '',
      stderr: `holdfast: Cannot store the address ${selection.chosen[0]}: ${reason}\n`,
    }
  }
  const stdout = [selection.chosen.join(' '), ...lines].map((line) => `${line}\n`).join('')
  return { ...say(stdout), stderr: warnings.map((warning) => `holdfast: ${warning}\n`).join('') }
}

/** Returns the path of a file that has its content but not its name yet. */
const nextTo = (root: string, path: string): string => `${join(root, path)}.holdfast-new`

/** Writes the content of a file under another name, if the file has a content. */
function prepare(root: string, { path, content }: NodeFile): void {
  if (content === undefined) return
  const next = nextTo(root, path)
  mkdirSync(dirname(next), { recursive: true, mode: 0o755 })
  writeFileSync(next, content, { mode: 0o644 })
  // The umask of this process must not hide the file from its readers.
  chmodSync(next, 0o644)
}

/** Removes a prepared file. If that fails, the error that ended the preparation is the one to report. */
function removePrepared(next: string): void {
  try {
    rmSync(next, { force: true })
  } catch {
    // The file was never written: a part of its path is no folder, or is read-only.
  }
}

/** Gives a prepared file its name, or removes a file without a content. Returns a text about the change. */
function put(root: string, { path, content }: NodeFile): string {
  const file = join(root, path)
  // A reader sees the old file or the new file, never a part of one.
  if (content !== undefined) renameSync(nextTo(root, path), file)
  else rmSync(file, { force: true })
  return `${content === undefined ? 'removed' : 'wrote'} ${file}`
}

/**
 * Enables forwarding on this link, for OVN and for redirects of the VIPs. Returns warnings if the setting is read-only,
 * as /proc/sys may be in a container. Throws on any other failure.
 */
function forward(link: string, chosen: readonly Address[]): readonly string[] {
  const warnings = new Set<string>()
  for (const family of new Set(chosen.map(familyOf))) {
    const file = `/proc/sys/net/${family}/conf/${link}/forwarding`
    if (readFileSync(file, 'utf8').trim() === '1') continue
    try {
      writeFileSync(file, '1')
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EROFS')) throw error
      warnings.add(`forwarding on ${link} stays off: /proc/sys is read-only`)
    }
  }
  return [...warnings]
}

/**
 * Returns the address that an earlier call of the command stored. The original program ignores a file that ends in a
 * newline and chooses again.
 */
const knownPrimary = (root: string): Address | undefined => parseAddress(textOf(join(root, PRIMARY))?.trim() ?? '')

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function explain(selection: Selection, { wishes, hint }: Question, options: NodeIpOptions): CommandResult {
  const exitCode = selection.chosen.length > 0 ? EXIT.ok : EXIT.failure
  if (options.json === true) {
    const stdout = `${JSON.stringify({ ...selection, hints: wishes.hints, vips: wishes.vips }, null, 2)}\n`
    return { exitCode, stdout, stderr: '' }
  }
  const known = knownPrimary(options.root)
  const width = Math.max(...selection.suitability.map(({ address }) => address.length), 0)
  const links = Math.max(...selection.suitability.map(({ link }) => link.length), 0)
  const lines = [
    `hint: ${hint.from === undefined ? 'none' : `${wishes.hints.join(' ')} (${hint.from})`}`,
    `VIPs: ${wishes.vips.join(' ') || 'none'}`,
    ...selection.suitability.map(
      ({ address, link, chosen, why }) =>
        `${chosen ? '*' : ' '} ${address.padEnd(width)}  ${link.padEnd(links)}  ${why}`,
    ),
    selection.chosen.length > 0 ? `chosen: ${selection.chosen.join(' ')}` : NOBODY,
    ...(known === undefined || known === selection.chosen[0]
      ? []
      : [`used since this boot: ${known} (stored in ${join(options.root, PRIMARY)})`]),
  ]
  return { exitCode, stdout: lines.map((line) => `${line}\n`).join(''), stderr: '' }
}

const NOBODY = 'no address: none in the network of a hint or VIP, none on a link with a default route'
const say = (stdout: string): CommandResult => ({ exitCode: EXIT.ok, stdout, stderr: '' })
const fail = (text: string): CommandResult => ({ exitCode: EXIT.failure, stdout: '', stderr: `holdfast: ${text}\n` })
const nobody = (): CommandResult => fail(`${NOBODY} (holdfast node-ip explain shows the reason for each address)`)
const unread = (): CommandResult => fail("Cannot read the kernel's links, addresses and routes")
