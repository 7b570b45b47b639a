/** The fields of every event of the journal, and the function that makes the schema of one kind. */
import * as z from 'zod'

export const moment = z.iso.datetime()
/** Name of a virtual router. */
export const router = z.string()

/** Fields of every event. */
const common = {
  seq: z.int().positive().describe('Number of the event; continues after a restart'),
  at: moment.describe('Time of the wall clock'),
  monotonicMs: z.number().describe('CLOCK_MONOTONIC of this node in milliseconds since its boot'),
  because: z.int().positive().optional().describe('Number of the event that caused this one'),
}

export const event = <const K extends string, T extends z.core.$ZodLooseShape>(kind: K, shape: T) =>
  z.object({ ...common, kind: z.literal(kind), ...shape })
