/**
 * Ends connections whose request takes too long. This file decides that each connection has its own timer, because
 * Node's own check would wake the thread all day, also without connections. This file knows nothing about requests, and
 * how long an answer may take.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const ANSWER = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

const hasNoBody = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD'

/**
 * Sets the time limits of requests in milliseconds. The first request of a connection must be complete `within` its
 * start. A further request must be complete within `idle`, counted from the last answer.
 */
export function endLateRequests(server: Server, within: number, idle: number): void {
  const alarms = new WeakMap<Socket, NodeJS.Timeout>()
  const hasCome = (socket: Socket): void => clearTimeout(alarms.get(socket))
  const expect = (socket: Socket, ms: number): void => {
    hasCome(socket)
    if (socket.destroyed) return
    const late = () => {
      socket.write(ANSWER)
      socket.destroySoon()
    }
    alarms.set(socket, setTimeout(late, ms).unref())
  }
  server.on('connection', (socket) => {
    expect(socket, within)
    socket.once('close', () => hasCome(socket))
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    if (hasNoBody(request)) hasCome(socket)
    else request.once('end', () => hasCome(socket))
    response.once('close', () => expect(socket, idle + within))
  })
}
