/**
 * Types and options that all commands share: the result of a command, its registration, and common options. The options
 * and help of a command are in commands/; its work is in the file that commands/ loads.
 */
import { type Command, Option } from 'commander'
import { EXIT } from '../app/exit-code.ts'

/** Output and exit status of a command of `holdfast`. */
export type CommandResult = { readonly exitCode: number; readonly stdout: string; readonly stderr: string }

/**
 * Receives the result of a command that has ended. A number is the exit status of a command that has already printed
 * its output.
 */
export type End = (result: CommandResult | number) => void

/**
 * Adds a command to the program. Every start of `holdfast run` executes this function. To keep the start short, the
 * function does not import the code of the command; the action of the command loads that code.
 */
export type Register = (program: Command, end: End) => void

const DEFAULT_SOCKET = '/run/holdfast/holdfast.sock'

export const socketOption = (): Option =>
  new Option('-s, --socket <path>', 'control socket of the daemon').env('HOLDFAST_SOCKET').default(DEFAULT_SOCKET)

/** Collects the values of an option that may be repeated. */
export const repeated = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** Returns output and exit status of a command that was called with wrong options. */
export const usage = (message: string): CommandResult => ({
  exitCode: EXIT.usage,
  stdout: '',
  stderr: `holdfast: ${message}\n`,
})
