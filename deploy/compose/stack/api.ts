/**
 * Stands in for the API server of a node of the profile stack (docker-compose.yml): it lists the three nodes, and answers
 * every other request with the name of its node. It stores nothing. Arguments: NAME, and the addresses of the nodes.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'

const [own = '', ...addresses] = process.argv.slice(2)

const nodes = addresses.map((address, i) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `s${i + 1}`, resourceVersion: '1', labels: { 'node-role.kubernetes.io/master': '' } },
  status: {
    addresses: [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: `s${i + 1}` },
    ],
  },
}))
const list = JSON.stringify({ apiVersion: 'v1', kind: 'NodeList', metadata: { resourceVersion: '1' }, items: nodes })

const tls = { key: readFileSync('/etc/api.key'), cert: readFileSync('/etc/api.crt') }
createServer(tls, (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://api')
  if (pathname === '/api/v1/nodes') {
    response.setHeader('content-type', 'application/json')
    // The nodes never change: a watch stays open without an event.
    if (searchParams.get('watch') === null) response.end(list)
    else response.flushHeaders()
  } else if (pathname.startsWith('/apis/')) {
    response.statusCode = 404
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }))
  } else response.end(own)
}).listen(6443, '::')
