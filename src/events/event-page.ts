/**
 * Schemas of events outside of the daemon: a page of /v1/events and the body of a webhook. The schemas of page and
 * webhook are published as JSON Schema.
 */
import * as z from 'zod'
import { eventSchema, readEvent } from './event.ts'

/** Answer of the API to a request for /v1/events. */
export const eventPageSchema = z.object({
  version: z.literal(1),
  hostname: z.string(),
  now: z
    .object({ at: z.iso.datetime(), monotonicMs: z.number() })
    .describe('Clocks of this node at the time of the answer'),
  file: z.string().nullable().describe('Path of the event journal; null = the journal is in memory only'),
  oldest: z.int().nullable().describe('Number of the oldest event in memory; null = no event'),
  latest: z.int().nullable(),
  events: z.array(eventSchema),
})
export type EventPage = z.output<typeof eventPageSchema>

const loosePageSchema = eventPageSchema.extend({ events: z.array(z.unknown()) })

/**
 * Reads the page of another daemon, perhaps of another version. Returns `undefined` for any other value. Leaves out
 * unknown events.
 */
export function readEventPage(value: unknown): EventPage | undefined {
  const read = loosePageSchema.safeParse(value)
  return read.success ? { ...read.data, events: read.data.events.flatMap((each) => readEvent(each) ?? []) } : undefined
}

/**
 * Body of a webhook: one event. The schema of this body is published (`holdfast schema webhook`). Later versions of
 * holdfast only add fields to version 1.
 */
export const webhookBodySchema = z.object({
  version: z.literal(1),
  id: z.string().describe('The same in every attempt; also in the header Idempotency-Key'),
  node: z.string().describe('Host name of the node where the event happened'),
  event: eventSchema,
})
export type WebhookBody = z.output<typeof webhookBodySchema>
