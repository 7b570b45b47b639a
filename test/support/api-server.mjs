/**
 * Stands in for the API server of a node: it answers each request on one port with 200 and its name, over TLS or without
 * TLS. Clients without TLS make a test cheap; HAProxy's checks use TLS. `file` contains the status for /readyz. Without the
 * file, the status is 200. Arguments: FOLDER (with key.pem and cert.pem), PORT, NAME. Prints "listening".
 */
import { readFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'

const TLS_HANDSHAKE = 22
const [folder, port, name] = process.argv.slice(2)
const read = (file) => readFileSync(join(folder, file), 'utf8')

function readiness() {
  try {
    return Number(read(`${name}-readyz`))
  } catch {
    return 200
  }
}

const answer = (request, response) => {
  response.statusCode = request.url === '/readyz' ? readiness() : 200
  if (request.url !== '/hold') response.end(name)
  else response.write(name)
}
const plain = createHttp(answer)
const secure = createHttps({ key: read('key.pem'), cert: read('cert.pem') }, answer)
createServer((socket) => {
  socket.on('error', () => {})
  socket.once('data', (first) => {
    socket.pause()
    socket.unshift(first)
    if (first[0] === TLS_HANDSHAKE) secure.emit('connection', socket)
    else {
      plain.emit('connection', socket)
      socket.resume()
    }
  })
}).listen(Number(port), '::', () => console.log('listening'))
