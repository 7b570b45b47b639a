/** Serves `/metrics` and `/healthz` of the agent. The agent is healthy as long as it answers. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'

/** Counters that can be shown as text in Prometheus' format. `now`: milliseconds of the wall clock. */
export type Countable = { text(now: number): string }

/** Returns the HTTP server of the agent's metrics, or an Error if the address is not available. */
export async function serveMetrics(
  { host, port }: { readonly host: string; readonly port: number },
  account: Countable,
): Promise<Server | Error> {
  const server = createServer((request, response) => {
    const [path] = (request.url ?? '/').split('?')
    if (request.method !== 'GET' || (path !== '/metrics' && path !== '/healthz')) {
      response.statusCode = request.method === 'GET' ? 404 : 405
      response.end()
      return
    }
    response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8')
    response.end(path === '/healthz' ? 'ok\n' : account.text(Date.now()))
  })
  server.requestTimeout = 5_000
  server.maxConnections = 16
  server.listen(port, host)
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
