/**
 * Starts native/launcher for the programs of one check or of one router's notifications: the only place where the
 * engine makes a process. Decided here: where the binary lies and what it inherits, which is one end of a channel and the
 * environment that was asked for. Refuses to know what the programs are run for, and what is said over the channel.
 */
import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { NATIVE } from '../native.ts'

export type LaunchedPrograms = {
  /** `numbered`: a number that is told before each run is its last argument. */
  readonly programs: readonly { readonly argv: readonly string[]; readonly numbered: boolean }[]
  readonly environment: Readonly<Record<string, string>>
  /** undefined: as this process. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined
  /** What a program leaves behind when it ends by itself stays. */
  readonly spare: boolean
  /** `keep`: those that this process has, unless `user` is another one than its own and root. undefined: none. */
  readonly capabilities?: 'keep' | undefined
}

export type Launcher = {
  /** It kills what it has started, and ends. */
  end(): void
}

const BINARY = join(NATIVE, 'prebuilds', `linux-${process.arch}`, 'holdfast-launcher')

/** One end of a channel that nobody is to have, or that its launcher has. */
export function closeChannel(channel: number): void {
  closeSync(channel)
}

/**
 * The launcher gets `channel` as its descriptor 3; the caller's own is to be closed afterwards. Throws Error with the
 * `code` of what failed. That it lacks a privilege it says over the channel.
 */
export function startLauncher(wanted: LaunchedPrograms, channel: number, onEnd: () => void): Launcher {
  const { capabilities, environment, programs, spare, user } = wanted
  const words = [
    ...(user === undefined ? [] : ['--user', `${user.uid}:${user.gid}`]),
    ...(spare ? ['--spare'] : []),
    ...(capabilities === 'keep' ? ['--keep'] : []),
    ...programs.flatMap(({ argv, numbered }) => [numbered ? '--numbered' : '--program', String(argv.length), ...argv]),
  ]
  const child = spawn(BINARY, words, {
    cwd: '/',
    detached: true,
    env: { ...environment },
    stdio: ['ignore', 'ignore', 'ignore', channel],
  })
  let ended = false
  const end = () => {
    if (!ended) onEnd()
    ended = true
  }
  // ENOENT and the like come this way; the channel, of which nobody has the other end then, tells the asker.
  child.once('error', end)
  child.once('exit', end)
  child.unref()
  return { end: () => void (ended || child.kill('SIGTERM')) }
}
