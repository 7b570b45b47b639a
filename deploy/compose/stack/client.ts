/**
 * The client of the profile stack (docker-compose.yml): each 100 ms it asks the API by its name, over a new connection. It prints which
 * node answers, and for how long none did. The name is asked at the CoreDNS of each node in turn, until one answers.
 * LAB_CLIENT_OUTPUT=json prints one object a line. Arguments: NAME, and the addresses of the DNS servers.
 */
import { Resolver } from 'node:dns/promises'
import { request } from 'node:https'

const [name = '', ...servers] = process.argv.slice(2)
const EVERY = 100
/** Milliseconds after which a DNS server or the API counts as silent. */
const PATIENCE = 1_000
const inWords = process.env.LAB_CLIENT_OUTPUT !== 'json'

const resolvers = servers.map((server) => {
  const resolver = new Resolver({ timeout: PATIENCE / 2, tries: 1 })
  resolver.setServers([server])
  return resolver
})
let first = 0

/** Returns an address of the API. The server that answered last is asked first. */
async function addressOf(): Promise<string> {
  let reason: unknown = new Error('no DNS server was given')
  for (let i = 0; i < resolvers.length; i++) {
    const place = (first + i) % resolvers.length
    try {
      const [address] = (await resolvers[place]?.resolve4(name)) ?? []
      if (address === undefined) continue
      first = place
      return address
    } catch (error) {
      reason = error
    }
  }
  throw reason
}

/** Returns the name of the API server that answers. */
function ask(host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host, port: 6443, path: '/', servername: name, rejectUnauthorized: false, agent: false as const }
    const asked = request({ ...options, signal: AbortSignal.timeout(PATIENCE) }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('end', () => resolve(text))
      answer.on('error', reject)
    })
    asked.on('error', reject)
    asked.end()
  })
}

function say(text: string, fields: Readonly<Record<string, unknown>>): void {
  const at = new Date().toISOString()
  process.stdout.write(inWords ? `${at.slice(11, 23)}  ${text}\n` : `${JSON.stringify({ at, ...fields })}\n`)
}

let lostSince: number | undefined
let lost = 0
let answered = 0
const by = new Map<string, number>()
async function turn(): Promise<void> {
  const began = performance.now()
  try {
    const server = await ask(await addressOf())
    if (!by.has(server)) say(`the API server of ${server} answers`, { event: 'server', server })
    by.set(server, (by.get(server) ?? 0) + 1)
    answered++
    if (lostSince !== undefined) {
      const ms = Math.round(performance.now() - lostSince)
      say(`${ms} ms without an answer, ${lost} requests lost`, { event: 'gap', ms, lost })
    }
    lostSince = undefined
    lost = 0
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (lostSince === undefined) say(`no answer: ${reason}`, { event: 'lost', reason })
    lostSince ??= began
    lost++
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(0))
setInterval(() => say(`${answered} answers`, { event: 'answers', answered, by: Object.fromEntries(by) }), 10_000)
for (;;) {
  await turn()
  await new Promise((resolve) => setTimeout(resolve, EVERY))
}
