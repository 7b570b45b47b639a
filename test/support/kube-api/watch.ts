/** Represents an open watch of the Kubernetes API's stand-in, which a test can observe and disturb. */
import type { ServerResponse } from 'node:http'
import type { KubeObject } from './store.ts'

export class OpenWatch {
  readonly path: string
  /** Version from which the client asked to resume the watch; `null`: the client asked for all objects first. */
  readonly resourceVersion: string | null
  readonly bookmarks: boolean
  readonly #response: ServerResponse
  #silent = false
  #kept: string[] = []

  constructor(response: ServerResponse, path: string, resourceVersion: string | null, bookmarks: boolean) {
    this.#response = response
    this.path = path
    this.resourceVersion = resourceVersion
    this.bookmarks = bookmarks
  }

  send(type: string, object: unknown): void {
    this.sendText(`${JSON.stringify({ type, object })}\n`)
  }

  /** Sends any text over the watch. */
  sendText(text: string): void {
    if (this.#silent) this.#kept.push(text)
    else this.#response.write(text)
  }

  bookmark(apiVersion: string, kind: string, version: number): void {
    const metadata = { resourceVersion: String(version), creationTimestamp: null }
    if (this.bookmarks) this.send('BOOKMARK', { apiVersion, kind, metadata })
  }

  /** Sends an ERROR event over the watch, as for a version that is too old. The HTTP status of the watch stays 200. */
  error(code: number, reason: string): void {
    this.send('ERROR', {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason,
      code,
      message: `${reason}: told so`,
    })
  }

  /** Holds all events of the watch back. The connection stays open. */
  silence(): void {
    this.#silent = true
  }

  /** Sends the events that were held back, and holds no further events back. */
  speak(): void {
    this.#silent = false
    for (const text of this.#kept.splice(0)) this.#response.write(text)
  }

  /** Discards the events that were held back. */
  drop(): void {
    this.#kept = []
    this.#silent = false
  }

  /** Ends the watch as the timeout of a watch does. */
  end(): void {
    this.#response.end()
  }

  reset(): void {
    const { socket } = this.#response
    // A unix socket cannot be reset.
    if (socket?.remoteAddress === undefined) socket?.destroy()
    else socket.resetAndDestroy()
  }

  /** Sends half of the line of an event and then closes the connection. */
  cutInLine(type: string, object: KubeObject): void {
    const line = JSON.stringify({ type, object })
    this.#response.write(line.slice(0, line.length / 2), () => setTimeout(() => this.reset(), 20))
  }
}
