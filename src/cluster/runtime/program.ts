/**
 * A program of the node that is asked something: bounded in time and in what it may say. Never throws; a program that is
 * missing, fails, hangs or talks without end is one answer, with the reason.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'

export type Said = { readonly stdout: string } | { readonly failed: string; readonly stderr: string }

const MOST_OCTETS = 16 * 1024 * 1024

/** How a program of the node is called: a container of the monitor has the node at /host, and the kernel is the same. */
export const nodeProgram = (name: string): readonly string[] =>
  ['bin', 'sbin'].some((folder) => existsSync(`/host/usr/${folder}/${name}`)) ? ['chroot', '/host', name] : [name]

export function ask(argv: readonly string[], timeout: number): Promise<Said> {
  const [program = '', ...words] = argv
  return new Promise((resolve) => {
    execFile(program, words, { timeout, killSignal: 'SIGKILL', maxBuffer: MOST_OCTETS }, (error, stdout, stderr) => {
      if (error === null) return resolve({ stdout })
      const reason =
        error.killed === true ? `no answer within ${timeout} ms` : (stderr.trim().split('\n')[0] ?? '') || error.message
      resolve({ failed: `${argv.join(' ')}: ${reason}`, stderr })
    })
  })
}
