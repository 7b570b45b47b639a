/**
 * Runs a program of the node and returns its output, with limits for time and size. No function throws: for a program
 * that is missing, fails, hangs or writes too much, the reason is returned.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'

export type ProgramResult = { readonly stdout: string } | { readonly failed: string; readonly stderr: string }

const MOST_OCTETS = 16 * 1024 * 1024

/**
 * Returns the command that runs a program of the node. In the monitor's container the node's files are at /host, so the
 * program runs in a chroot there.
 */
export const nodeProgram = (name: string): readonly string[] =>
  ['bin', 'sbin'].some((folder) => existsSync(`/host/usr/${folder}/${name}`)) ? ['chroot', '/host', name] : [name]

/** Runs a program for at most `timeout` milliseconds. */
export function ask(argv: readonly string[], timeout: number): Promise<ProgramResult> {
  const [program = '', ...parameters] = argv
  return new Promise((resolve) => {
    execFile(
      program,
      parameters,
      { timeout, killSignal: 'SIGKILL', maxBuffer: MOST_OCTETS },
      (error, stdout, stderr) => {
        if (error === null) return resolve({ stdout })
        const reason =
          error.killed === true
            ? `no answer within ${timeout} ms`
            : (stderr.trim().split('\n')[0] ?? '') || error.message
        resolve({ failed: `${argv.join(' ')}: ${reason}`, stderr })
      },
    )
  })
}
