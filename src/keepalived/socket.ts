/**
 * The socket over which a cluster's monitor commands the keepalived of its pod: a line `reload`, a line `stop`, no
 * answer (docs/adr/0030). Decided here: a client stays as long as it likes, because the monitor connects once; who may
 * not command is dropped; a line that is neither is told and ignored. What a command does is the caller's business.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { type ControlPeer, listenPrivately, mayCommand } from '../files/private-socket.ts'

export type LineCommand = 'reload' | 'stop'

export type LinePorts = {
  readonly peerOf: (socket: Socket) => ControlPeer | undefined
  readonly onCommand: (command: LineCommand) => void
  readonly onRefused: (peer: ControlPeer | undefined) => void
  /** In words. */
  readonly onProblem: (message: string) => void
}

const MOST_CONNECTIONS = 8
const LONGEST_LINE = 64

/** Rejects with Error when the path cannot be used; its message names the path. */
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
    ports.onProblem(`The socket ${path} is not in a safe place: ${unsafe}`),
  )
  return server
}

function listen(socket: Socket, { onCommand, onProblem }: LinePorts): void {
  let rest = ''
  const take = (line: string) => {
    const word = line.trim()
    if (word === 'reload' || word === 'stop') onCommand(word)
    else if (word !== '') onProblem(`The keepalived socket knows reload and stop, not ${JSON.stringify(word)}`)
  }
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line.slice(0, LONGEST_LINE))
    if (rest.length > LONGEST_LINE) socket.destroy()
  })
  // A line without its end is none: it may have been cut.
  socket.on('end', () => socket.end())
}
