/**
 * Reads the engine of this node through its control socket: its status, and its event journal as a stream. This file
 * decides the time limit for an answer of the engine, and that a broken stream of the engine's events is opened again.
 */
import { request } from 'node:http'

const WITHIN = 2_000
const AGAIN = 1_000
const LONGEST = 8 << 20

/**
 * Returns the JSON that the engine's control socket gives for a path. Rejects with Error if no engine answers with
 * JSON.
 */
export function askEngine(socketPath: string, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, agent: false }, (response) => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        length += chunk.length
        if (length > LONGEST) asked.destroy(new Error('the answer is too long'))
        else chunks.push(chunk)
      })
      response.on('error', fail)
      response.on('end', () => {
        clearTimeout(late)
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')))
        } catch {
          reject(new Error('the answer is not JSON'))
        }
      })
    })
    const late = setTimeout(() => asked.destroy(new Error(`no answer in ${WITHIN} ms`)), WITHIN)
    function fail(error: Error): void {
      clearTimeout(late)
      reject(error)
    }
    asked.on('error', fail)
    asked.end()
  })
}

/** Passes on each new event of the engine's journal. `onBroken` is called each time the connection breaks. */
export class EngineStream {
  readonly #socketPath: string
  readonly #onEvent: (event: unknown) => void
  readonly #onBroken: () => void
  readonly #ending = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(socketPath: string, onEvent: (event: unknown) => void, onBroken: () => void) {
    this.#socketPath = socketPath
    this.#onEvent = onEvent
    this.#onBroken = onBroken
    this.#open()
  }

  end(): void {
    this.#ending.abort()
    clearTimeout(this.#timer)
  }

  #open(): void {
    const { signal } = this.#ending
    const headers = { accept: 'text/event-stream' }
    let isOver = false
    const over = (): void => {
      if (isOver || signal.aborted) return
      isOver = true
      this.#onBroken()
      this.#timer = setTimeout(() => this.#open(), AGAIN)
      this.#timer.unref()
    }
    const asked = request({ socketPath: this.#socketPath, path: '/v1/events', headers, agent: false, signal })
    asked.on('response', (response) => {
      if (response.statusCode !== 200) return void asked.destroy()
      let rest = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        if (rest.length > LONGEST) return void asked.destroy()
        for (const line of lines) if (line.startsWith('data: ')) this.#tell(line.slice(6))
      })
      response.on('error', over)
      response.on('close', over)
    })
    asked.on('error', over)
    asked.on('close', over)
    asked.end()
  }

  #tell(data: string): void {
    try {
      this.#onEvent(JSON.parse(data))
    } catch {
      // An incomplete event in the stream is ignored.
    }
  }
}
