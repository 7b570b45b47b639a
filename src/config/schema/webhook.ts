/**
 * The key `notify.webhook:` of the configuration: a URL to which events are posted. This file decides which kinds of
 * events can be chosen, and the default times of an attempt to post. This file knows nothing about the content of an
 * event, and how an event is posted.
 */
import * as z from 'zod'
import type { WebhookSpec } from '../../notify/webhook.ts'
import { duration, list, oneOf, section, textual } from './field.ts'
import { HEADERS_EXPECTED, headersFrom, texts, urlFrom } from './healthcheck-field.ts'

const HOUR = 3_600_000

/** Kinds of events in the event journal. A test compares this list with the journal's own list. */
export const EVENT_KINDS = [
  'started',
  'engineRestarted',
  'upgradeOrdered',
  'engineUpgraded',
  'earlierLife',
  'stopOrdered',
  'stopped',
  'crashed',
  'guardianLost',
  'yieldOrdered',
  'transition',
  'announced',
  'priorityChanged',
  'checkChanged',
  'linkChanged',
  'interfaceMoved',
  'addressNamed',
  'faultChanged',
  'peerHeard',
  'absence',
  'engineLate',
  'advertisementsMissed',
  'foreignChange',
  'duplicateHolder',
  'twoActives',
  'packetsDiscarded',
  'packetsLost',
  'reloaded',
  'journalGap',
] as const

/**
 * Kinds of events that are posted by default: changes of the holder and problems, without routine reports of the
 * network.
 */
const DEFAULT_EVENTS = [
  'started',
  'engineRestarted',
  'engineUpgraded',
  'earlierLife',
  'stopped',
  'guardianLost',
  'transition',
  'faultChanged',
  'absence',
  'foreignChange',
  'duplicateHolder',
  'twoActives',
  'reloaded',
] as const satisfies readonly (typeof EVENT_KINDS)[number][]

/** Replaces the name of an event kind of version 0.1, which older configuration files may have. */
const newKind = (kind: unknown): unknown => (kind === 'duplicateOwner' ? 'duplicateHolder' : kind)

const EVENTS_EXPECTED = 'a list of kinds of events'
const RETRY_EXPECTED = 'a mapping with first, most and giveUpAfter'

export const webhook = () =>
  section(
    {
      url: textual('an http or https URL', urlFrom('https://alerts.example/holdfast')).describe(
        'URL to which events are posted, as JSON',
      ),
      events: list(z.preprocess(newKind, oneOf(...EVENT_KINDS)), EVENTS_EXPECTED)
        .min(1, { error: EVENTS_EXPECTED })
        .default([...DEFAULT_EVENTS])
        .describe('Kinds of events that are posted'),
      headers: texts(HEADERS_EXPECTED)
        .transform(headersFrom)
        .default({})
        .describe('Headers of each request, such as a token'),
      timeout: duration(100, 60_000).prefault('5s').describe('Time limit of one attempt'),
      retry: section(
        {
          first: duration(10, HOUR)
            .prefault('500ms')
            .describe('Delay before the second attempt, doubled for each further one'),
          most: duration(10, HOUR).prefault('1m').describe('Longest delay between two attempts'),
          giveUpAfter: duration(0, 24 * HOUR)
            .prefault('1h')
            .describe('Age at which an event is dropped'),
        },
        RETRY_EXPECTED,
      )
        .prefault({})
        .describe('Delays after which an event that has not arrived is posted again'),
    },
    'a mapping with url',
  ).transform((spec): WebhookSpec => spec)
