// An address for the API's stand-in in this network namespace: node port.mjs HOST PORT UNIX_SOCKET. It passes bytes
// on and knows nothing of them. After SIGKILL the port refuses connections; after SIGSTOP connections are accepted
// and never answered.
import { connect, createServer } from 'node:net'

const [host, port, path] = process.argv.slice(2)
const server = createServer({ allowHalfOpen: true }, (client) => {
  const api = connect({ path, allowHalfOpen: true })
  for (const [one, other] of [
    [client, api],
    [api, client],
  ]) {
    one.pipe(other)
    one.on('error', () => other.destroy())
    one.once('close', () => other.destroy())
  }
})
server.listen(Number(port), host, () => process.stdout.write('listening\n'))
