/**
 * The TCP port of the API: metrics, status, events and liveness for every client that can reach it. This file decides
 * how often the engine is asked, however many clients there are. If the engine does not answer, the port answers 503.
 * This file does not know threads.
 */

import type { IncomingMessage } from 'node:http'
import { hostname } from 'node:os'
import { messageOf } from '../base/message-of.ts'
import type { EngineReport } from '../daemon/telemetry/report.ts'
import type { JournalEvent } from '../events/event.ts'
import type { EventPage } from '../events/event-page.ts'
import type { EventQuestion } from './event-question.ts'
import { eventRoute } from './event-route.ts'
import { withFormerNames } from './former-names.ts'
import type { MetricsPage } from './metrics/metrics-page.ts'
import { pageRoutes } from './page-files.ts'
import type { Peers, PeersAnswer } from './peers/peers.ts'
import type { PortNews, PortSettings } from './port-settings.ts'
import { publicEvent, publicPage, publicStatus } from './public-view.ts'
import { readiness } from './readiness.ts'
import { isOurs, targetOf } from './request-target.ts'
import { createApi, type Handler, json, type Reply, type Routes, text } from './server.ts'
import { ENGINE_PAUSE, sharedAnswer, TEXT_PAUSE, takingTurns } from './shared-answer.ts'

/** Milliseconds until the next attempt to listen on a port that is in use. */
const LISTEN_AGAIN = 1_000
/** Number of events per page. A thousand events would delay the engine's advertisements. */
const EVENTS_AT_ONCE = 100

/** Pauses in milliseconds between requests to the peers. An open status page asks every few seconds. */
const PEERS_PAUSE = { atLeast: 1_000, atMost: 5_000 }

type OpenSettings = PortSettings & { readonly listen: Exclude<PortSettings['listen'], false> }

/** Requests of the port to the engine. A request rejects with Error if the engine does not answer in time. */
export type EngineAccess = {
  /** Asks the engine for a sign of life. Resolves if the engine answers. */
  readonly beat: () => Promise<void>
  readonly events: (wanted: EventQuestion) => Promise<EventPage>
  /** Calls the listener with each event from now on. Returns the function that removes the listener. */
  readonly listen: (listener: (event: JournalEvent) => void) => () => void
}

/** Sources of the port's answers. */
export type PortSources = {
  readonly questions: EngineAccess
  readonly report: () => Promise<EngineReport>
  readonly metrics: MetricsPage
}

export function openPort(
  { listen: { host, port }, peers, isPublic }: OpenSettings,
  { metrics, questions, report }: PortSources,
  tell: (news: PortNews) => void,
): void {
  const beat = sharedAnswer(() => questions.beat(), ENGINE_PAUSE)
  const routes: Routes = {
    '/metrics': async () => ({ status: 200, ...(await metrics.text()) }),
    '/v1/status': sharedAnswer(async () => json(withFormerNames(publicStatus((await report()).snapshot))), TEXT_PAUSE),
    '/v1/events': eventRoute(
      {
        events: takingTurns(async (wanted: EventQuestion) => publicPage(await questions.events(wanted)), ENGINE_PAUSE),
        listen: (listener) => questions.listen((event) => listener(publicEvent(event))),
      },
      EVENTS_AT_ONCE,
    ),
    '/healthz': async () => {
      await beat()
      return text(200, 'ok')
    },
    '/readyz': async () => readiness((await report()).snapshot),
    '/v1/peers': peersRoute(peers),
    ...pageOr(tell),
  }
  // A public port is reached by names that this machine does not know.
  const server = createApi(routes, {}, isPublic ? () => undefined : refuseForeignNames)
  server.on('drop', () => {
    metrics.refusedConnections++
  })
  server.on('error', (error) => {
    tell({ kind: 'failed', message: error.message })
    if (!server.listening) setTimeout(() => server.listen(port, host), LISTEN_AGAIN)
  })
  server.on('listening', () => tell({ kind: 'listening' }))
  server.listen(port, host)
}

/** Refuses requests by foreign names. A page of another site needs such a name to read a port on loopback. */
function refuseForeignNames(request: IncomingMessage): Reply | undefined {
  const { host } = targetOf(request)
  if (isOurs(host, [hostname()])) return undefined
  return text(
    421,
    'Host name not accepted; use an IP address, localhost or the name of this machine, or set "api.public: true"',
  )
}

/** Returns the route to the peers. The code that reads their answers is loaded at the first request. */
function peersRoute(urls: readonly string[]): Handler {
  let peers: Promise<Peers> | undefined
  return sharedAnswer(async () => {
    if (urls.length === 0)
      return json({ version: 1, takenAt: new Date().toISOString(), peers: [] } satisfies PeersAnswer)
    peers ??= import('./peers/peers.ts').then(({ Peers }) => new Peers(urls))
    return json(await (await peers).ask())
  }, PEERS_PAUSE)
}

/** Returns the routes of the status page. If the page's files cannot be read, metrics and liveness are still served. */
function pageOr(tell: (news: PortNews) => void): Routes {
  try {
    return pageRoutes()
  } catch (error) {
    const why = messageOf(error)
    tell({ kind: 'failed', message: `Cannot serve the status page: ${why}` })
    return {}
  }
}
