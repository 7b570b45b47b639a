/** The text of something that was thrown. */

/** Returns the message of an Error, and the text of any other value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
