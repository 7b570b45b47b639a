/**
 * The service that health checks ask: http on 8080 and https on 8443, for the folder in argv. The file `mode` decides with
 * each request: a status, with which it is answered. SIGHUP: the certificate is read again. `/text` answers with the file
 * `text`. It says "listening" when both ports are open.
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
