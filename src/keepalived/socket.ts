/**
 * Serves the socket over which a cluster's monitor commands the keepalived of its pod: a line `reload` or `stop`,
 * without an answer (docs/adr/0030). A client may stay connected, because the monitor connects once. A client without
 * the right to command is disconnected. Any other line is reported and ignored. This file knows nothing about the
 * effect of a command.
 */

import { createServer, type Server, type Socket } from 'node:net'
import { refusedValue } from '../base/refused-value.ts'
import { type ControlPeer, listenPrivately, mayCommand } from '../files/private-socket.ts'

export type LineCommand = 'reload' | 'stop'

export type LinePorts = {
  readonly peerOf: (socket: Socket) => ControlPeer | undefined
  readonly onCommand: (command: LineCommand) => void
  readonly onRefused: (peer: ControlPeer | undefined) => void
  /** Called with the text of a problem. */
  readonly onProblem: (message: string) => void
}

const MOST_CONNECTIONS = 8
const LONGEST_LINE = 64

/** Opens the socket. Rejects with Error if the path cannot be used; its message names the path. */
export async function openKeepalivedSocket(path: string, ports: LinePorts): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    const peer = ports.peerOf(socket)
    if (mayCommand(peer)) return listen(socket, ports)
    ports.onRefused(peer)
    socket.destroy()
  })
  server.maxConnections = MOST_CONNECTIONS
  await listenPrivately(server, path, (unsafe) =>
    ports.onProblem(`The folder of socket ${path} is not safe: ${unsafe}`),
  )
  return server
}

function listen(socket: Socket, { onCommand, onProblem }: LinePorts): void {
  let rest = ''
  const take = (line: string) => {
    const word = line.trim()
    if (word === 'reload' || word === 'stop') onCommand(word)
    else if (word !== '') onProblem(`${refusedValue("keepalived's socket", word, 'reload or stop')}`)
  }
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line.slice(0, LONGEST_LINE))
    if (rest.length > LONGEST_LINE) socket.destroy()
  })
  // A last line without a line end may be incomplete and is ignored.
  socket.on('end', () => socket.end())
}
