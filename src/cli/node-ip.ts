/**
 * `holdfast node-ip show | set | explain`, in the place of runtimecfg's: which address is the node's own, said, written down
 * for all who read it, or explained address by address. Decided here: when to look again, and that what is written is
 * whole. The choice is kubernetes/node-ip's.
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
  /** VIPs; a hint among them comes first. */
  readonly values: readonly string[]
  readonly retryOnFailure?: boolean
  readonly preferIpv6?: boolean
  readonly networkType: string
  readonly userManagedLb?: boolean
  readonly platform: string
  readonly hintFile: string
  /** Where the files are; the kernel is always this machine's. */
  readonly root: string
  readonly json?: boolean
}

/** Seconds. An IPv6 address is usable when duplicate address detection has ended, mostly after one. */
const TENTATIVE_PAUSE = 1
/** When it has found another host it never ends. */
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
      return say(`${known} was chosen before (${join(options.root, PRIMARY)}): nothing changes\n`)
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
  if (wrong >= 0) return `Cannot use "${options.values[wrong]}": it is no IP address`
  const file = join(options.root, options.hintFile)
  const hint = hintIn([
    { name: 'the environment', words: process.env },
    { name: file, words: environmentIn(textOf(file) ?? '') },
  ])
  if (typeof hint === 'string') return hint
  const given = values.flatMap((value) => value ?? [])
  // MCO's unit passes the hint in front of the VIPs.
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

/** Undefined: the kernel's tables could not be read; without an address: there is none, and nobody wanted to wait; a string: why not. */
async function selected(wishes: Wishes, patient: boolean): Promise<Selection | string | undefined> {
  for (let pause = FIRST_PAUSE, tentative = 0; ; ) {
    const seen = look(wishes)
    const first = seen?.selection.chosen[0]
    if (first !== undefined && seen?.tentative.includes(first) === true) {
      tentative += TENTATIVE_PAUSE
      if (!patient && tentative > LONGEST_TENTATIVE)
        return `${first} is still tentative: it cannot be used, perhaps another host has it`
      await sleep(TENTATIVE_PAUSE * 1_000)
      continue
    }
    if (first !== undefined || !patient) return seen?.selection
    process.stderr.write(`holdfast: no address yet: another look in ${pause} s\n`)
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
  const lines = []
  let warnings: readonly string[] = []
  try {
    // The primary address announces the choice, so it is written when all else has succeeded.
    if (options.root === '/' && selection.link !== undefined) warnings = forward(selection.link, selection.chosen)
    for (const file of files) {
      const done = put(options.root, file)
      if (done !== undefined) lines.push(done)
    }
  } catch (error) {
    const reason = messageOf(error)
    return {
      exitCode: EXIT.failure,
      stdout: '',
      stderr: `holdfast: Cannot write down ${selection.chosen[0]}: ${reason}\n`,
    }
  }
  const stdout = [selection.chosen.join(' '), ...lines].map((line) => `${line}\n`).join('')
  return { ...say(stdout), stderr: warnings.map((warning) => `holdfast: ${warning}\n`).join('') }
}

/** What was done, or undefined: it was so already. */
function put(root: string, { path, content }: NodeFile): string | undefined {
  const file = join(root, path)
  const there = textOf(file)
  if (there === content) return undefined
  if (content === undefined) {
    rmSync(file, { force: true })
    return `removed ${file}`
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 })
  // Whoever reads it reads one or the other, never half.
  const next = `${file}.holdfast-new`
  writeFileSync(next, content, { mode: 0o644 })
  // The umask of whoever runs this is not that of its readers.
  chmodSync(next, 0o644)
  renameSync(next, file)
  return `wrote ${file}`
}

/**
 * Turns forwarding over this link on, for OVN and the redirects of the VIPs. Returns why it stays off: a container may have
 * a read-only /proc/sys. Throws on any other failure.
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

/** Upstream does not take what ends in a newline for an address, and chooses again. */
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
  const width = Math.max(...selection.verdicts.map(({ address }) => address.length), 0)
  const links = Math.max(...selection.verdicts.map(({ link }) => link.length), 0)
  const lines = [
    `hint: ${hint.from === undefined ? 'none' : `${wishes.hints.join(' ')} (${hint.from})`}`,
    `VIPs: ${wishes.vips.join(' ') || 'none'}`,
    ...selection.verdicts.map(
      ({ address, link, chosen, why }) =>
        `${chosen ? '*' : ' '} ${address.padEnd(width)}  ${link.padEnd(links)}  ${why}`,
    ),
    selection.chosen.length > 0 ? `chosen: ${selection.chosen.join(' ')}` : NOBODY,
    ...(known === undefined || known === selection.chosen[0]
      ? []
      : [`in force since this boot: ${known} (${join(options.root, PRIMARY)})`]),
  ]
  return { exitCode, stdout: lines.map((line) => `${line}\n`).join(''), stderr: '' }
}

const NOBODY = 'no address: none in the network of a hint or VIP, none on a link with a default route'
const say = (stdout: string): CommandResult => ({ exitCode: EXIT.ok, stdout, stderr: '' })
const fail = (text: string): CommandResult => ({ exitCode: EXIT.failure, stdout: '', stderr: `holdfast: ${text}\n` })
const nobody = (): CommandResult => fail(`${NOBODY} (holdfast node-ip explain tells of each)`)
const unread = (): CommandResult => fail("Cannot read the kernel's links, addresses and routes")
