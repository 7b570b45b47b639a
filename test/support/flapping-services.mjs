/**
 * Runs services that health checks of a soak test check, on loopback and in the folder that argv names. An HTTP server
 * that is always healthy listens on port 8080. A server that answers 200 and 500 by turns listens on port 8081. Port
 * 8082 opens and closes, and files appear and disappear. The line `pause` on standard input makes every service
 * healthy; after the line `go on` the services change again.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const [folder] = process.argv.slice(2)
const well = { http: true }
createHttp((_, response) => response.end('ok')).listen(8080, '127.0.0.1')
createHttp((_, response) => {
  response.statusCode = well.http ? 200 : 500
  response.end('ok')
}).listen(8081, '127.0.0.1')

const connections = new Set()
const port = createServer((socket) => {
  connections.add(socket)
  socket.on('error', () => {})
  socket.on('close', () => connections.delete(socket))
})
function setPort(open) {
  if (open === port.listening) return
  if (open) return port.listen(8082, '127.0.0.1')
  port.close()
  for (const socket of connections) socket.destroy()
}
const setFile = (name) => (there) =>
  there ? writeFileSync(join(folder, name), '') : rmSync(join(folder, name), { force: true })

/**
 * Lists each setting and the milliseconds until it changes. The periods differ from each other and from the interval of
 * the checks.
 */
const flapping = [
  [(up) => Object.assign(well, { http: up }), 2_300],
  // The period on the next line is longer than the time after which the daemon assumes that a server closes idle
  // connections.
  [setPort, 7_300],
  [setFile('flap-file'), 1_700],
  [setFile('flap-program'), 2_900],
  [setFile('flap-priority'), 3_700],
]
let paused = true
for (const [set, every] of flapping) {
  let up = true
  set(true)
  setInterval(() => {
    if (paused) return
    up = !up
    set(up)
  }, every)
}
setFile('mover')(true)

createInterface({ input: process.stdin }).on('line', (line) => {
  paused = line === 'pause'
  if (paused) for (const [set] of flapping) set(true)
})
console.log('listening')
