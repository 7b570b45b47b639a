/**
 * The dry run before an upgrade (docs/adr/0096): the guardian starts this program beside the running engine, and the
 * program checks whether it could take over. This file decides what is checked: configuration, addon, capabilities,
 * sockets, the guardian's formats, and the record of the running engine. The rehearsal of an upgrade changes nothing,
 * and takes no lock.
 */
import type { ResolvedRouter } from '../config/resolve.ts'
import { identityText, type RestartRecord, readRecord } from '../daemon/guard/restart-record.ts'
import type { Link, SocketPort } from '../daemon/ports.ts'
import { Recorder } from '../daemon/telemetry/recorder.ts'
import { openGuardianWords } from '../linux/guardian/guardian-words.ts'
import { readInheritance } from '../linux/guardian/restart.ts'
import { type Credentials, type Exit, loadNative, type NativeAddon } from '../linux/native.ts'
import { openSockets } from '../linux/sockets/sockets.ts'
import { EXIT } from './exit-code.ts'
import { judge, place, type RunOptions, readConfiguration } from './start.ts'
import { NEEDS_RESTART } from './upgrade.ts'

/** Oldest revision of the guardian that this version can use (native/guardian/message.h). */
const OLDEST_GUARDIAN = 1
const RESTART = 'restart the service: its addresses move to another node meanwhile'

type Result = { readonly exitCode: number; readonly lines: readonly string[] }

/** Returns the exit status of the dry run, whose reasons are on standard error. */
export async function rehearseUpgrade(file: string, options: RunOptions): Promise<number> {
  const native = loadNative()
  const { exitCode, lines } = guardianProblem(native) ?? (await startProblem(native, file, options))
  for (const line of lines) process.stderr.write(`${line}\n`)
  return exitCode
}

function guardianProblem(native: NativeAddon): Result | undefined {
  const { HOLDFAST_GUARDIAN_REHEARSAL: revision, HOLDFAST_GUARDIAN_WORDS: memory } = process.env
  const refuse = (why: string) => ({ exitCode: NEEDS_RESTART, lines: [`${why}: ${RESTART}`] })
  if (!(Number(revision) >= OLDEST_GUARDIAN)) return refuse('this version needs a newer guardian than the running one')
  const faults: string[] = []
  openGuardianWords(native, memory, ({ message }) => faults.push(message))
  return faults.length === 0 ? undefined : refuse('the running guardian shares its memory in another layout')
}

async function startProblem(
  native: NativeAddon & Credentials & Exit,
  file: string,
  options: RunOptions,
): Promise<Result> {
  const record = readRecord(readInheritance(process.env.HOLDFAST_GUARDIAN_SNAPSHOT)?.text ?? '')
  if (record === undefined)
    return { exitCode: NEEDS_RESTART, lines: [`the running engine wrote a record of another form: ${RESTART}`] }
  const read = readConfiguration({ file, options })
  if ('exitCode' in read) return read
  const judged = await judge(read)
  if ('exitCode' in judged) return judged
  const recorder = new Recorder(() => performance.now())
  const placed = place(judged.config, read, { native, recorder })
  if ('exitCode' in placed) return placed
  const { clock, network } = placed
  const routers = placed.routers ?? []
  const closed = socketProblem(openSockets(native, clock, judged.raw), network.links() ?? [], routers)
  network.close()
  if (closed !== undefined) return { exitCode: EXIT.failure, lines: [`holdfast: ${closed}`] }
  const changed = identityProblem(record, file, read.parsed.hash) ?? placeProblem(record, routers)
  return changed === undefined ? { exitCode: EXIT.ok, lines: [] } : { exitCode: NEEDS_RESTART, lines: [changed] }
}

function identityProblem({ identity }: RestartRecord, file: string, hash: string): string | undefined {
  if (identity === identityText(file, hash)) return undefined
  return `${file}: has changed since it was loaded: run "holdfast reload" first`
}

/** Compares the place of each Active with the place that this version would give it. */
function placeProblem({ routers: active }: RestartRecord, routers: readonly ResolvedRouter[]): string | undefined {
  for (const { interfaceName, name, source } of active) {
    const own = routers.find((router) => router.name === name)
    if (own === undefined) return `virtual router ${name}: this version does not find it in the configuration`
    if (own.interfaceName !== interfaceName || String(own.source) !== source)
      return `virtual router ${name}: this version would send from ${own.source} on ${own.interfaceName}, not from ${source} on ${interfaceName}`
  }
  return undefined
}

/** Opens the sockets of each interface and family, and closes them. */
function socketProblem(
  sockets: SocketPort,
  links: readonly Link[],
  routers: readonly ResolvedRouter[],
): string | undefined {
  for (const { interfaceName, parameters, source } of routers) {
    const link = links.find(({ name }) => name === interfaceName)
    if (link === undefined || source === undefined) continue
    const { family, transport } = parameters
    const common = { interfaceIndex: link.index, interfaceName: link.name, family, onFailure: () => {} }
    const group = transport.mode === 'multicast' ? transport.group : undefined
    const quiet = () => {}
    const opened = [
      sockets.openAdvertisementSocket({ ...common, source, group, onReadable: quiet, onOverdue: quiet }),
      sockets.openFrameSocket({ ...common, hears: 'nothing' }),
    ]
    for (const socket of opened) if ('close' in socket) socket.close()
    const failed = opened.find((socket) => 'code' in socket)
    if (failed !== undefined && 'code' in failed) return `${link.name}: ${failed.message}`
  }
  return undefined
}
