/** Events as they leave a daemon: a page of /v1/events, and the body of a webhook. Both are published as JSON Schema. */
import * as z from 'zod'
import { eventSchema, readEvent } from './event.ts'

/** The answer of /v1/events. */
export const eventPageSchema = z.object({
  version: z.literal(1),
  hostname: z.string(),
  now: z.object({ at: z.iso.datetime(), monotonicMs: z.number() }).describe("This node's clocks when it answered"),
  file: z.string().nullable().describe('Where the journal is kept; null: in memory alone'),
  oldest: z.int().nullable().describe('Number of the oldest event in memory; null: there is none'),
  latest: z.int().nullable(),
  events: z.array(eventSchema),
})
export type EventPage = z.output<typeof eventPageSchema>

const loosePageSchema = eventPageSchema.extend({ events: z.array(z.unknown()) })

/** Returns `undefined` for something else. Any daemon sends it, perhaps of another version. */
export function readEventPage(value: unknown): EventPage | undefined {
  const read = loosePageSchema.safeParse(value)
  return read.success ? { ...read.data, events: read.data.events.flatMap((each) => readEvent(each) ?? []) } : undefined
}

/** What is posted to a webhook: one event, as a schema that is published (`holdfast schema webhook`). Version 1 only grows. */
export const webhookBodySchema = z.object({
  version: z.literal(1),
  id: z.string().describe('The same in every attempt, and in the header Idempotency-Key'),
  node: z.string().describe('Host name of the node on which it happened'),
  event: eventSchema,
})
export type WebhookBody = z.output<typeof webhookBodySchema>
