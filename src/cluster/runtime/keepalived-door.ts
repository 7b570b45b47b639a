/**
 * Hand-over in the place of keepalived's monitor: its file is replaced whole, then `reload` is said on its socket; `stop` for a
 * bootstrap node. A word that finds nobody is said again until it is heard or a later one takes its place: keepalived may start
 * after us. Refuses to know what the file says.
 */
import { createConnection } from 'node:net'
import { replaceFile } from './fact-file.ts'

export type Word = 'reload' | 'stop'
export type KeepalivedDoorOptions = {
  readonly file: string
  readonly socket: string
  readonly tell: (message: string) => void
  /** An earlier life of the agent has said `stop`. */
  readonly isStopped?: boolean
  /** Before the second attempt; doubled with each, up to thirty times as long. */
  readonly pause?: number
}
export type KeepalivedDoor = {
  /** While keepalived is stopped, without a word. Throws what the file system says: nothing has changed then. */
  handOver(text: string): void
  say(word: Word): void
  close(): void
}

const TIMEOUT = 5000
const FIRST_PAUSE = 1000
const LONGEST = 30

export function openKeepalivedDoor(options: KeepalivedDoorOptions): KeepalivedDoor {
  const { file, socket, tell, pause = FIRST_PAUSE } = options
  let { isStopped = false } = options
  let timer: NodeJS.Timeout | undefined
  /** Of the word that is being said: a later one makes what the earlier one comes to meaningless. */
  let turn = 0

  async function attempt(word: Word, mine: number, wait: number): Promise<void> {
    const problem = await write(socket, `${word}\n`)
    if (mine !== turn) return
    if (problem === undefined) {
      if (wait > pause) tell(`${socket} has heard "${word}"`)
      return
    }
    if (wait === pause) tell(`Cannot say "${word}" on ${socket}: ${problem}; it is said again until somebody hears it`)
    timer = setTimeout(() => void attempt(word, mine, Math.min(2 * wait, LONGEST * pause)), wait)
  }

  const say = (word: Word) => {
    clearTimeout(timer)
    turn += 1
    isStopped = word === 'stop'
    void attempt(word, turn, pause)
  }
  return {
    handOver(text) {
      replaceFile(file, text)
      // It would start again; the next `reload` of the guard has it read the file.
      if (!isStopped) say('reload')
    },
    say,
    close() {
      turn += 1
      clearTimeout(timer)
    },
  }
}

/** Why nobody heard it. */
function write(path: string, line: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const connection = createConnection(path)
    const fail = (reason: string) => {
      resolve(reason)
      connection.destroy()
    }
    connection.setTimeout(TIMEOUT, () => fail(`nobody took it within ${TIMEOUT} ms`))
    connection.on('error', (error) => fail(error.message))
    connection.on('connect', () => connection.end(line))
    // Whoever listens need not answer, and need not close before it has done what was said.
    connection.on('finish', () => {
      resolve(undefined)
      connection.setTimeout(0)
      connection.unref()
    })
    connection.resume()
  })
}
