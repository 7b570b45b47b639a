/**
 * Disturbs the HTTP port of a node as many bad clients would, from the node itself. `connections` opens 1 000
 * connections and replaces those that the server closes. `slow` sends one byte of a header a second on each of 200
 * connections. `header` sends headers without end on 16 connections. `pipeline` asks for the status a thousand times on
 * each of 16 connections, without reading the answers. `scrape` repeatedly asks for the metrics and the status, with 16
 * requests at a time. The program prints one JSON line at the end.
 */
import { connect } from 'node:net'

const [mode, port, seconds] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const CLIENTS = { connections: 1_000, slow: 200, header: 16, pipeline: 16, scrape: 16 }[mode]
const counts = { opened: 0, closed: 0, bytes: 0, statuses: {} }
const sockets = new Set()
let over = false

function open() {
  const socket = connect(port, '127.0.0.1')
  sockets.add(socket)
  let timer
  socket.on('connect', () => {
    counts.opened++
    if (mode === 'slow') {
      socket.write('GET /metrics HTTP/1.1\r\nX-Slow: ')
      timer = setInterval(() => socket.write('a'), 1_000)
    } else if (mode === 'header') {
      const more = () => {
        while (!socket.destroyed && socket.write(`X-${counts.bytes++}: ${'a'.repeat(1_000)}\r\n`));
      }
      socket.write('GET /metrics HTTP/1.1\r\n')
      socket.on('drain', more)
      more()
    } else if (mode === 'pipeline') {
      socket.pause()
      socket.write('GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1_000))
      timer = setTimeout(() => socket.resume(), 2_000)
    } else if (mode === 'scrape') {
      const path = counts.opened % 2 === 0 ? '/metrics' : '/v1/status'
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    }
  })
  socket.on('data', (chunk) => {
    for (const [, status] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g))
      counts.statuses[status] = (counts.statuses[status] ?? 0) + 1
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    clearTimeout(timer)
    counts.closed++
    sockets.delete(socket)
    // The delay leaves CPU time to other processes: this program must disturb holdfast, not every process of the
    // machine.
    if (!over) setTimeout(open, mode === 'scrape' ? 0 : 200)
  })
}

for (let i = 0; i < CLIENTS; i++) setTimeout(open, (i % 100) * 5)
setTimeout(() => {
  over = true
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0))
}, seconds * 1_000)
