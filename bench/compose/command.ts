/**
 * Runs commands while lines of other processes are read. This file decides that a terminal's Ctrl-C reaches none of
 * them, because the lab ends them itself. A command that fails reports its reason.
 */
import { spawn } from 'node:child_process'

export type Command = {
  readonly env?: Readonly<Record<string, string>>
  /** True if its lines also go to standard error immediately. */
  readonly aloud?: boolean
  readonly within?: number
}

/** Returns its standard output. Throws with its standard error. */
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

/** Returns whether the command can be run. */
export async function works(argv: readonly string[]): Promise<boolean> {
  return command(argv, { within: 20_000 }).then(
    () => true,
    () => false,
  )
}
