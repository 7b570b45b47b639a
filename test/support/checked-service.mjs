/**
 * Serves the requests of health checks: http on port 8080 and https on port 8443. argv names the folder of the key, the
 * certificate and the answers. The file `mode` in that folder has the HTTP status of every answer, and is read at each
 * request. The path `/text` is answered with the file `text`. At SIGHUP the server reads its certificate again. The
 * server prints "listening" when its two ports are open.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecure } from 'node:https'
import { join } from 'node:path'

const [folder] = process.argv.slice(2)
const read = (name) => readFileSync(join(folder, name), 'utf8')
const pair = () => ({ key: read('key.pem'), cert: read('cert.pem') })

function answer(request, response) {
  response.statusCode = Number(read('mode'))
  response.end(request.url === '/text' ? read('text') : 'ok')
}

const secure = createSecure(pair(), answer)
process.on('SIGHUP', () => secure.setSecureContext(pair()))
const plain = createServer(answer)
plain.listen(8080, '127.0.0.1', () => secure.listen(8443, '127.0.0.1', () => console.log('listening')))
