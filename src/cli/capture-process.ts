/**
 * One life of the capturing child (capture-child.ts), seen from the command: frames while it lives, and what its end
 * meant. Decides that a child killed by its own abort is the interface's doing (cap 0.2 asserts that it never goes
 * down) and keeps its last words from the terminal. Refuses to know frames, and whether to start another one.
 */
import { spawn } from 'node:child_process'
import { type CaptureMessage, MessageReader } from './capture-message.ts'

export type CaptureEnd =
  /** It was told to stop. */
  | { readonly kind: 'stopped' }
  /** The interface went down or away under it. */
  | { readonly kind: 'aborted' }
  | { readonly kind: 'failed'; readonly why: string }

export type CaptureProcess = {
  readonly ended: Promise<CaptureEnd>
  stop(): void
}

/** An abort that was expected must leave no core file behind. */
const WITHOUT_CORE = 'ulimit -c 0; exec "$@"'

export function startCapture(
  device: string,
  deliver: (message: Exclude<CaptureMessage, { kind: 'failed' }>) => void,
): CaptureProcess {
  const command = [process.execPath, ...process.execArgv, process.argv[1] ?? '', 'capture-child', device]
  const child = spawn('/bin/sh', ['-c', WITHOUT_CORE, 'sh', ...command], { stdio: ['pipe', 'pipe', 'pipe'] })
  const reader = new MessageReader()
  let stopping = false
  let why: string | undefined
  let complaint = ''
  child.stdout.on('data', (chunk: Buffer) => {
    reader.push(chunk, (message) => {
      if (message.kind === 'failed') why = message.why
      else if (!stopping) deliver(message)
    })
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-2_000)
  })
  // The child may be gone before it is told.
  child.stdin.on('error', () => {})
  const ended = new Promise<CaptureEnd>((resolve) => {
    child.on('error', (error) => resolve({ kind: 'failed', why: error.message }))
    child.on('close', (code, signal) => {
      if (stopping) resolve({ kind: 'stopped' })
      else if (why !== undefined) resolve({ kind: 'failed', why })
      else if (signal === 'SIGABRT') resolve({ kind: 'aborted' })
      else {
        const last = complaint.trim().split('\n').at(-1) ?? ''
        resolve({ kind: 'failed', why: `its process ended with ${signal ?? `status ${code}`}${last && `: ${last}`}` })
      }
    })
  })
  return {
    ended,
    stop() {
      stopping = true
      child.stdin.end()
      child.kill('SIGTERM')
    },
  }
}
