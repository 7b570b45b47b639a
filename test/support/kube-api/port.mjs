// Gives the stand-in of the Kubernetes API an address in this network namespace: node port.mjs HOST PORT UNIX_SOCKET.
// The program passes bytes on without reading them. After SIGKILL the port refuses connections; after SIGSTOP the
// kernel accepts connections, and no request is answered.
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
