/**
 * Runs the services that the health checks of a node check: an HTTP server on each port in argv. `6443s` means HTTPS on
 * port 6443, with key.pem and cert.pem of the folder. A file in the folder, such as `9444-haproxy_ready`, contains the
 * HTTP status for the requests of that port and path. Without the file the answer is a success. The program prints
 * "listening" when all ports are open.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecure } from 'node:https'
import { join } from 'node:path'

const [folder, ...ports] = process.argv.slice(2)
const read = (name) => readFileSync(join(folder, name), 'utf8')

function statusOf(question) {
  try {
    return Number(read(question.replace(/[^\w]+/g, '-').replace(/-$/, '')))
  } catch {
    return 200
  }
}

let closed = ports.length
for (const each of ports) {
  const port = Number.parseInt(each, 10)
  const answer = (request, response) => {
    response.statusCode = statusOf(`${port}${request.url}`)
    response.end('ok')
  }
  const server = each.endsWith('s')
    ? createSecure({ key: read('key.pem'), cert: read('cert.pem') }, answer)
    : createServer(answer)
  server.listen(port, () => {
    closed -= 1
    if (closed === 0) console.log('listening')
  })
}
