/**
 * Hands a configuration over to keepalived, in the place of keepalived's monitor. The file is replaced as a whole, then
 * the order `reload` is sent to keepalived's socket; a bootstrap node sends `stop`. An order without a receiver is
 * repeated until it is received or a later order replaces it, because keepalived may start after the agent. This file
 * knows nothing about the content of the configuration.
 */
import { createConnection } from 'node:net'
import { replaceFile } from './fact-file.ts'

export type Order = 'reload' | 'stop'
export type KeepalivedClientOptions = {
  readonly file: string
  readonly socket: string
  readonly tell: (message: string) => void
  /** True if an earlier run of the agent stopped keepalived. */
  readonly isStopped?: boolean
  /** Milliseconds before the second attempt. The delay doubles with each attempt, up to thirty times this value. */
  readonly pause?: number
}
export type KeepalivedClient = {
  /**
   * Replaces the file and sends `reload`, unless keepalived is stopped. Throws the error of the file system; in that
   * case nothing has changed.
   */
  handOver(text: string): void
  send(order: Order): void
  close(): void
}

const TIMEOUT = 5000
const FIRST_PAUSE = 1000
const LONGEST = 30

export function openKeepalivedClient(options: KeepalivedClientOptions): KeepalivedClient {
  const { file, socket, tell, pause = FIRST_PAUSE } = options
  let { isStopped = false } = options
  let timer: NodeJS.Timeout | undefined
  /** Number of the current order to keepalived. If a later order exists, the outcome of an attempt is ignored. */
  let turn = 0

  async function attempt(order: Order, mine: number, wait: number): Promise<void> {
    const problem = await write(socket, `${order}\n`)
    if (mine !== turn) return
    if (problem === undefined) {
      if (wait > pause) tell(`${socket} received "${order}"`)
      return
    }
    if (wait === pause)
      tell(`Cannot send "${order}" to ${socket}: ${problem}; the agent repeats it until keepalived receives it`)
    timer = setTimeout(() => void attempt(order, mine, Math.min(2 * wait, LONGEST * pause)), wait)
  }

  const send = (order: Order) => {
    clearTimeout(timer)
    turn += 1
    isStopped = order === 'stop'
    void attempt(order, turn, pause)
  }
  return {
    handOver(text) {
      replaceFile(file, text)
      // `reload` would start a stopped keepalived. The next `reload` after the stop makes keepalived read the new file.
      if (!isStopped) send('reload')
    },
    send,
    close() {
      turn += 1
      clearTimeout(timer)
    },
  }
}

/** Sends a line to keepalived's socket. Returns the reason if keepalived did not receive the line. */
function write(path: string, line: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const connection = createConnection(path)
    const fail = (reason: string) => {
      resolve(reason)
      connection.destroy()
    }
    connection.setTimeout(TIMEOUT, () => fail(`it was not received within ${TIMEOUT} ms`))
    connection.on('error', (error) => fail(error.message))
    connection.on('connect', () => connection.end(line))
    // The receiver may send no answer, and may close the connection only after it has executed the order. For this
    // reason the written line counts as received.
    connection.on('finish', () => {
      resolve(undefined)
      connection.setTimeout(0)
      connection.unref()
    })
    connection.resume()
  })
}
