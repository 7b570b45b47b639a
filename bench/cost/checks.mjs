/**
 * Measures how soon a health check notices a failed service, and by how much checks delay advertisements: `node
 * bench/cost/checks.mjs [notice|lateness]… [--seconds N] [--runs N]` (root; build first: make build). This file decides
 * from which event to which event a time is measured. The CPU cost of checks is measured by `npm run bench:cost --
 * --part checks`. This script does not judge the figures: the budgets are in docs/cost.md.
 */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecure } from 'node:https'
import { createRequire } from 'node:module'
import { createServer as createTcp } from 'node:net'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const HOLDFAST = join(ROOT, 'bin', 'holdfast')
const [NODE, PEER] = [`hfchk${process.pid}a`, `hfchk${process.pid}b`]
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const ip = (...argv) => execFileSync('ip', argv, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' })
const sorted = (values) => [...values].sort((a, b) => a - b)
const quantile = (values, q) => sorted(values)[Math.min(values.length - 1, Math.floor(q * values.length))]
const figures = (values) =>
  [0, 0.5, 0.95, 0.99, 1].map((q) => quantile(values, Math.min(q, 0.999999)).toFixed(2)).join(' / ')

/**
 * Starts test servers in the node's namespace: http on port 8080, tcp on port 8081, and https on port 8443. The https
 * server issues no session tickets, so every TLS handshake is a full one.
 */
function serve(folder) {
  const options = {
    key: readFileSync(join(folder, 'key.pem')),
    cert: readFileSync(join(folder, 'cert.pem')),
    secureOptions: folder.endsWith('fresh') ? constants.SSL_OP_NO_TICKET : 0,
  }
  createServer((_request, response) => response.end('ok')).listen(8080, '127.0.0.1')
  createTcp((socket) => socket.on('error', () => {})).listen(8081, '127.0.0.1')
  const secure = createSecure(options, (_request, response) => response.end('ok'))
  if (process.argv[4] === 'fresh') secure.on('newSession', (_id, _data, done) => done())
  secure.listen(8443, '127.0.0.1', () => console.log('listening'))
}

/**
 * Records, in the peer's network namespace, when the kernel received each advertisement, in ms, until the recording
 * process is ended.
 */
function witness() {
  const native = createRequire(import.meta.url)('node-gyp-build')(join(ROOT, 'native'))
  const socket = new native.NativeSocket(2, 3, 112, 64, 256)
  const [level, addMembership, timestamps] = [0, 35, 64]
  const index = native.interfaceIndex('eth0')
  const request = Buffer.alloc(12)
  request.set([224, 0, 0, 18], 0)
  request.writeInt32LE(index, 8)
  socket.setOption(level, addMembership, request)
  socket.setOption(1, timestamps, Buffer.from([1, 0, 0, 0]))
  const view = new DataView(socket.meta.buffer)
  const drain = () => {
    for (let count = socket.receive(); count > 0; count = socket.receive())
      for (let i = 0; i < count; i++) process.stdout.write(`${view.getFloat64(i * 128 + 16, true)}\n`)
  }
  socket.start(drain, () => {})
}

const [role] = process.argv.slice(2)
if (role === 'serve') serve(process.argv[3])
else if (role === 'witness') witness()
else await main()

async function main() {
  const argv = process.argv.slice(2)
  const option = (name, otherwise) => (argv.includes(name) ? Number(argv[argv.indexOf(name) + 1]) : otherwise)
  const [seconds, runs] = [option('--seconds', 60), option('--runs', 20)]
  const wanted = ['notice', 'lateness'].filter((name) => argv.includes(name))
  const folder = mkdtempSync(join(tmpdir(), 'hf-checks-'))
  const children = new Set()
  const start = (namespace, ...command) => {
    const child = spawn('ip', ['netns', 'exec', namespace, ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.add(child)
    child.lines = []
    let rest = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()
      child.lines.push(...lines)
    })
    return child
  }
  const line = async (child, pattern, from = 0) => {
    for (let waited = 0; waited < 20_000; waited += 5) {
      const found = child.lines.findIndex((text, i) => i >= from && pattern.test(text))
      if (found >= 0) return found
      await sleep(5)
    }
    throw new Error(`Nothing like ${pattern} was said: ${child.lines.slice(-5).join('\n')}`)
  }
  const end = (child, signal = 'SIGTERM') =>
    new Promise((resolve) => {
      children.delete(child)
      if (child.exitCode !== null || child.signalCode !== null) return resolve()
      child.once('exit', resolve)
      child.kill(signal)
    })
  const server = async (...more) => {
    const started = start(NODE, process.execPath, import.meta.filename, 'serve', folder, ...more)
    await line(started, /listening/)
    return started
  }
  const holdfast = async (healthchecks, interval, ...options) => {
    const track = healthchecks.map(({ name }) => ({ healthcheck: name, weight: 1 }))
    const vip = { name: 'vip', vrid: 1, interface: 'eth0', addresses: ['10.78.9.1'], priority: 200, track }
    const config = {
      runDirectory: join(folder, 'run'),
      api: { listen: false },
      healthchecks,
      virtualRouters: [{ ...vip, advertisementInterval: interval }],
    }
    const file = join(folder, 'holdfast.yaml')
    writeFileSync(file, JSON.stringify(config))
    const started = start(NODE, HOLDFAST, 'run', '-c', file, ...options)
    await line(started, /"to":"Active"|→ Active/)
    return started
  }
  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL')
    for (const namespace of [NODE, PEER]) spawnQuietly('ip', ['netns', 'del', namespace])
    rmSync(folder, { recursive: true, force: true })
  })
  process.on('SIGINT', () => process.exit(130))
  process.on('SIGTERM', () => process.exit(143))

  ip('netns', 'add', NODE)
  ip('netns', 'add', PEER)
  ip('-n', NODE, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', PEER)
  for (const [namespace, address] of [
    [NODE, '10.78.9.11/24'],
    [PEER, '10.78.9.12/24'],
  ]) {
    ip('-n', namespace, 'link', 'set', 'lo', 'up')
    ip('-n', namespace, 'addr', 'add', address, 'dev', 'eth0')
    ip('-n', namespace, 'link', 'set', 'eth0', 'up')
  }
  const ca = join(folder, 'cert.pem')
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(folder, 'key.pem')]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', ['req', '-x509', ...key, '-out', ca, '-days', '2', ...names], { stdio: 'pipe' })
  console.log(`Node ${process.version}, kernel ${execFileSync('uname', ['-r'], { encoding: 'utf8' }).trim()}`)

  const https = { http: 'https://127.0.0.1:8443/', tls: { caFile: ca } }
  const kinds = {
    http: { http: 'http://127.0.0.1:8080/' },
    https,
    tcp: { tcp: '127.0.0.1:8081' },
  }
  if (wanted.includes('notice')) {
    for (const kind of ['http', 'https', 'tcp']) {
      let served = await server()
      // The check's interval is 3 s. If the daemon notices a failure much sooner, an event caused that and not the next
      // regular run.
      const daemon = await holdfast([{ name: kind, ...kinds[kind], interval: '3s' }], '1s')
      const took = []
      for (let run = 0; run < runs; run++) {
        const at = daemon.lines.length
        // If a server closes an idle connection within 5 s after it was opened, the daemon assumes that the server
        // always does so.
        await sleep(6_000)
        const killedAt = Date.now()
        await end(served, 'SIGKILL')
        const found = await line(daemon, /healthcheck \w+: up → down/, at)
        took.push(JSON.parse(daemon.lines[found]).time - killedAt)
        served = await server()
        await line(daemon, /healthcheck \w+: down → up/, found)
      }
      console.log(`notice ${kind}: SIGKILL of the server to the result in the engine, ms, ${runs} runs:`)
      console.log(`  min / median / p95 / p99 / max ${figures(took)}`)
      await end(daemon)
      await end(served)
    }
  }

  if (wanted.includes('lateness')) {
    const served = await server('fresh')
    for (const count of [0, 20, 0, 20]) {
      const checks = Array.from({ length: count }, (_, i) => ({ name: `c${i}`, ...https, interval: '100ms' }))
      const daemon = await holdfast(checks, '10ms', '--realtime')
      await sleep(5_000)
      const seen = start(PEER, process.execPath, import.meta.filename, 'witness')
      await sleep(seconds * 1_000)
      const times = seen.lines.map(Number)
      await end(seen)
      const late = times.slice(1).map((at, i) => at - times[i] - 10)
      console.log(`lateness of ${late.length} advertisements every 10 ms, ${count * 10} fresh-TLS checks a second, ms:`)
      console.log(`  min / median / p95 / p99 / max ${figures(late)}`)
      await end(daemon)
    }
    await end(served)
  }
  process.exit(0)
}

function spawnQuietly(command, argv) {
  try {
    execFileSync(command, argv, { stdio: 'ignore' })
  } catch {
    // The folder to remove did not exist.
  }
}
