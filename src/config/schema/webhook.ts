/**
 * The key `notify.webhook:` of the whole configuration: a URL to which events are posted. Decided here: which events there
 * are to choose from, and how patient an attempt is. This file does not know what an event holds, nor how it is posted.
 */
import * as z from 'zod'
import type { WebhookSpec } from '../../notify/webhook.ts'
import { duration, list, oneOf, section, textual } from './field.ts'
import { HEADERS_WANTED, headersFrom, texts, urlFrom } from './healthcheck-field.ts'

const HOUR = 3_600_000

/** The kinds of the journal; a test holds them equal. */
export const EVENT_KINDS = [
  'started',
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

/** Who has what, and what is wrong; not what the network says all day. */
const DEFAULT_EVENTS = [
  'started',
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

/** Files written for 0.1 have the former name. */
const newKind = (kind: unknown): unknown => (kind === 'duplicateOwner' ? 'duplicateHolder' : kind)

const EVENTS_WANTED = 'a list of kinds of events wanted'
const RETRY_WANTED = 'a mapping with first, most and giveUpAfter wanted'

export const webhook = () =>
  section(
    {
      url: textual('an http or https URL wanted', urlFrom('url', 'https://alerts.example/holdfast')).describe(
        'Events are posted here, as JSON',
      ),
      events: list(z.preprocess(newKind, oneOf(...EVENT_KINDS)), EVENTS_WANTED)
        .min(1, { error: EVENTS_WANTED })
        .default([...DEFAULT_EVENTS])
        .describe('Kinds of events of the journal that are posted'),
      headers: texts(HEADERS_WANTED).transform(headersFrom).default({}).describe('Sent with each, such as a token'),
      timeout: duration(100, 60_000).prefault('5s').describe('Of one attempt'),
      retry: section(
        {
          first: duration(10, HOUR)
            .prefault('500ms')
            .describe('Before the second attempt, doubled for each further one'),
          most: duration(10, HOUR).prefault('1m').describe('Between two attempts, at most'),
          giveUpAfter: duration(0, 24 * HOUR)
            .prefault('1h')
            .describe('An event that is older is not tried again'),
        },
        RETRY_WANTED,
      )
        .prefault({})
        .describe('An event that has not arrived is posted again'),
    },
    'a mapping with url wanted',
  ).transform((spec): WebhookSpec => spec)
