/**
 * Scrapes the API of the nodes in argv (ADDRESS:PORT) once a second, as Prometheus does. The scraper requests /metrics
 * over a connection that stays open, and /v1/status over a new connection each time. The scraper prints each answer as
 * a JSON line. The line `pause` on standard input stops it and closes the open connections; `go on` continues.
 */
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'

const EVERY = 1_000
const PATIENCE = 5_000
const now = () => Number(process.hrtime.bigint()) / 1e6
const kept = process.argv.slice(2).map((address) => ({ address, agent: new Agent({ keepAlive: true, maxSockets: 1 }) }))
let paused = false

function ask(address, path, agent) {
  const at = now()
  const [host, port] = address.split(':')
  const tell = (more) => console.log(JSON.stringify({ address, path, at, ms: now() - at, ...more }))
  return new Promise((resolve) => {
    const asked = request({ host, port, path, agent }, (response) => {
      let bytes = 0
      response.on('data', (chunk) => {
        bytes += chunk.length
      })
      response.on('end', () => resolve(tell({ status: response.statusCode, bytes })))
      response.on('error', (error) => resolve(tell({ problem: error.message })))
    })
    const late = setTimeout(() => asked.destroy(new Error('no answer')), PATIENCE)
    asked.on('close', () => clearTimeout(late))
    // A pause also ends the requests that have no answer yet.
    asked.on('error', (error) => resolve(paused || tell({ problem: error.message })))
    asked.end()
  })
}

for (const { address, agent } of kept) {
  let busy = false
  setInterval(async () => {
    // Like Prometheus, the program does not ask a node again before the node has answered or the time limit has passed.
    if (busy || paused) return
    busy = true
    await ask(address, '/metrics', agent)
    await ask(address, '/v1/status', false)
    busy = false
  }, EVERY)
}

createInterface({ input: process.stdin }).on('line', (line) => {
  paused = line === 'pause'
  if (paused) for (const { agent } of kept) agent.destroy()
})
