/**
 * What all commands of the command line share: the form of a result, how a command is registered, and the options that
 * several of them have. A command's options and help are in commands/, its work in the file that commands/ loads.
 */
import { type Command, Option } from 'commander'
import { EXIT } from '../app/exit-code.ts'

/** Result of a command: its output and its exit status. */
export type CommandResult = { readonly exitCode: number; readonly stdout: string; readonly stderr: string }

/** Takes the result of a command that has ended; a number is the exit status of a command that has printed its output. */
export type End = (result: CommandResult | number) => void

/**
 * Adds a command to the program. Every start of `holdfast run` executes it, so it imports nothing of the command's work:
 * the action loads that.
 */
export type Register = (program: Command, end: End) => void

const DEFAULT_SOCKET = '/run/holdfast/holdfast.sock'

export const socketOption = (): Option =>
  new Option('-s, --socket <path>', 'control socket of the daemon').env('HOLDFAST_SOCKET').default(DEFAULT_SOCKET)

/** Collects the values of an option that may be repeated. */
export const repeated = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** Returns the result of a command whose options contradict each other. */
export const usage = (message: string): CommandResult => ({
  exitCode: EXIT.usage,
  stdout: '',
  stderr: `holdfast: ${message}\n`,
})
