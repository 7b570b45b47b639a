/**
 * Starts native/launcher for the programs of one check or of one router's notifications. The engine creates no other
 * process. This file decides the path of the binary and what the launcher inherits: one end of a channel, and the
 * requested environment. This file does not know the purpose of the programs, nor the messages on the channel.
 */
import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { NATIVE } from '../native.ts'

export type LaunchedPrograms = {
  /** `numbered`: the last argument of the program is a number, which is chosen for each run. */
  readonly programs: readonly { readonly argv: readonly string[]; readonly numbered: boolean }[]
  readonly environment: Readonly<Record<string, string>>
  /** User of the programs; `undefined` = the user of this process. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined
  /** True if processes that a program leaves behind may stay after the program has ended by itself. */
  readonly spare: boolean
  /**
   * `keep`: the launcher keeps the capabilities of this process, unless `user` is neither the user of this process nor
   * root. `undefined`: the launcher has no capabilities.
   */
  readonly capabilities?: 'keep' | undefined
}

export type Launcher = {
  /** Ends the launcher. The launcher kills every process that it has started. */
  end(): void
}

const BINARY = join(NATIVE, 'prebuilds', `linux-${process.arch}`, 'holdfast-launcher')

/** Closes one end of a channel: an unused end, or the end that the launcher has inherited. */
export function closeChannel(channel: number): void {
  closeSync(channel)
}

/**
 * Starts the launcher with `channel` as its descriptor 3. The caller closes its own copy of `channel` afterwards.
 * Throws an Error with the `code` of the failed system call. The launcher reports a missing privilege over the channel.
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
  // The launcher could not be started (ENOENT, for example). The channel then has no other end, which the requester
  // notices.
  child.once('error', end)
  child.once('exit', end)
  child.unref()
  return { end: () => void (ended || child.kill('SIGTERM')) }
}
