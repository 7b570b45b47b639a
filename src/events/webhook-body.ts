/** What is posted to a webhook: one event, as a schema that can be published (`holdfast schema webhook`). Version 1 only grows. */
import * as z from 'zod'
import { eventSchema } from './event.ts'

export const webhookBodySchema = z.object({
  version: z.literal(1),
  id: z.string().describe('The same in every attempt, and in the header Idempotency-Key'),
  node: z.string().describe('Host name of the node on which it happened'),
  event: eventSchema,
})
export type WebhookBody = z.output<typeof webhookBodySchema>
