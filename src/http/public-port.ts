/**
 * The TCP side of the API: metrics, status, events and liveness for whoever reaches the port. Decided here: how often the
 * engine may be asked, whoever asks; when the engine is silent the answer says so with 503. Refuses to know threads.
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

/** A port that is taken may be free again later. */
const LISTEN_AGAIN = 1_000
/** A thousand events would take the engine longer than an advertisement may wait. */
const EVENTS_AT_ONCE = 100

/** Two questions to each of them; whoever looks at the page asks every few seconds. */
const PEERS_PAUSE = { atLeast: 1_000, atMost: 5_000 }

type OpenSettings = PortSettings & { readonly listen: Exclude<PortSettings['listen'], false> }

/** What the port asks the engine. Each rejects with Error if the engine does not answer in time. */
export type EngineAccess = {
  /** Settles when the engine runs. */
  readonly beat: () => Promise<void>
  readonly events: (wanted: EventQuestion) => Promise<EventPage>
  /** Calls the listener with each event from now on. Returns how to end it. */
  readonly listen: (listener: (event: JournalEvent) => void) => () => void
}

/** Where what is served comes from. */
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
  // Whoever is wanted from other machines comes by names that nobody here knows.
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

/** Here, where a page of another site could read what only this machine may: it would need a name of its own. */
function refuseForeignNames(request: IncomingMessage): Reply | undefined {
  const { host } = targetOf(request)
  if (isOurs(host, [hostname()])) return undefined
  return text(421, 'Ask by an address, localhost or the name of this machine; for other names set "api.public: true"')
}

/** What reads their answers is loaded when somebody looks. */
function peersRoute(urls: readonly string[]): Handler {
  let peers: Promise<Peers> | undefined
  return sharedAnswer(async () => {
    if (urls.length === 0)
      return json({ version: 1, takenAt: new Date().toISOString(), peers: [] } satisfies PeersAnswer)
    peers ??= import('./peers/peers.ts').then(({ Peers }) => new Peers(urls))
    return json(await (await peers).ask())
  }, PEERS_PAUSE)
}

/** Metrics and liveness do not depend on it. */
function pageOr(tell: (news: PortNews) => void): Routes {
  try {
    return pageRoutes()
  } catch (error) {
    const why = messageOf(error)
    tell({ kind: 'failed', message: `Cannot serve the status page: ${why}` })
    return {}
  }
}
