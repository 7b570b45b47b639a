/**
 * Receives the requests of a webhook. The receiver prints a line for each request with the time (ms of
 * CLOCK_MONOTONIC), the number of the attempt and the body. The first argument of the program is the address to listen
 * on, HOST:PORT. The second argument of the program is the number of requests that are answered with status 500.
 */
import { createServer } from 'node:http'

const [where = '', failures = '0'] = process.argv.slice(2)
const [host, port] = where.split(':')
let left = Number(failures)

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const status = left-- > 0 ? 500 : 204
  const at = Number(process.hrtime.bigint()) / 1e6
  const attempt = Number(request.headers['holdfast-attempt'])
  process.stdout.write(`${JSON.stringify({ at, status, attempt, body: JSON.parse(body) })}\n`)
  response.writeHead(status).end()
})
server.listen(Number(port), host, () => process.stdout.write('"listening"\n'))
