/**
 * Runs commands to their end while the output of other processes is read. This file decides that Ctrl-C at the terminal
 * reaches no command, because the lab ends its commands itself. A command that fails reports its error text.
 */
import { spawn } from 'node:child_process'

export type Command = {
  readonly env?: Readonly<Record<string, string>>
  /** True if the lines of the command also go to standard error as soon as the command writes them. */
  readonly aloud?: boolean
  readonly within?: number
}

/** Returns the standard output of the command. Throws with the standard error of the command if the command fails. */
export function command(argv: readonly string[], { env = {}, aloud = false, within = 120_000 }: Command = {}) {
  const [file = '', ...rest] = argv
  return new Promise<string>((resolve, reject) => {
    const child = spawn(file, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
      detached: true,
      timeout: within,
      killSignal: 'SIGKILL',
    })
    let output = ''
    let complaint = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      if (aloud) process.stderr.write(chunk)
    })
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      complaint += chunk
      if (aloud) process.stderr.write(chunk)
    })
    child.once('error', (error) => reject(new Error(`Cannot run "${argv.join(' ')}": ${error.message}`)))
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(output)
      const how = signal === null ? `exit status ${code}` : `${signal}, after ${within} ms at most`
      reject(new Error(`Cannot run "${argv.join(' ')}" (${how}): ${complaint.trim().slice(-2_000)}`))
    })
  })
}

/** Returns true if this machine can run the command. */
export async function works(argv: readonly string[]): Promise<boolean> {
  return command(argv, { within: 20_000 }).then(
    () => true,
    () => false,
  )
}
