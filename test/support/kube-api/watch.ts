/** An open watch of the API's stand-in, as a test sees and mistreats it. */
import type { ServerResponse } from 'node:http'
import type { KubeObject } from './store.ts'

export class OpenWatch {
  readonly path: string
  /** As it was asked for; null: with all that there is. */
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

  /** Whatever it is. */
  sendText(text: string): void {
    if (this.#silent) this.#kept.push(text)
    else this.#response.write(text)
  }

  bookmark(apiVersion: string, kind: string, version: number): void {
    const metadata = { resourceVersion: String(version), creationTimestamp: null }
    if (this.bookmarks) this.send('BOOKMARK', { apiVersion, kind, metadata })
  }

  /** An ERROR event, as for a version that is too old: the stream stays 200. */
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

  /** Nothing more is said, the connection stays. */
  silence(): void {
    this.#silent = true
  }

  /** What was held back meanwhile comes at once. */
  speak(): void {
    this.#silent = false
    for (const text of this.#kept.splice(0)) this.#response.write(text)
  }

  /** What was held back meanwhile never comes. */
  drop(): void {
    this.#kept = []
    this.#silent = false
  }

  /** As when its time is over. */
  end(): void {
    this.#response.end()
  }

  reset(): void {
    const { socket } = this.#response
    // A unix socket knows no reset.
    if (socket?.remoteAddress === undefined) socket?.destroy()
    else socket.resetAndDestroy()
  }

  /** Half of an event's line, then the connection is gone. */
  cutInLine(type: string, object: KubeObject): void {
    const line = JSON.stringify({ type, object })
    this.#response.write(line.slice(0, line.length / 2), () => setTimeout(() => this.reset(), 20))
  }
}
