/** The methods of the addon's sockets for repeated packets (native/addon/repeated.h). sockets/repetitions.ts calls them. */

export type RepetitionMethods = {
  /**
   * Watches repetitions of a packet whose IP payload has this number in its second byte (0 to 255). `source` is its
   * sockaddr. `limits` (sockets/repetitions.ts) has all times in ms. A repetition does not call `onReadable`; receive() marks it
   * with FLAG.repeated. Any other packet calls `onReadable`. Replaces an earlier watch of the number. Throws RangeError.
   */
  watchRepeated(
    number: number,
    packet: Uint8Array,
    source: Uint8Array,
    destination: Uint8Array,
    limits: Float64Array,
  ): void
  /** Writes the repetitions since the last call. Returns false without a watch. */
  readRepeated(number: number, out: Float64Array): boolean
  endRepeated(number: number): void
  /**
   * Lets this timer call its `onReadable` when a packet of a watch was not repeated in time. `news` is another socket
   * for the same packets. With it, repetitions are read together, shortly before their deadline. The addon sets the
   * filter of `news`. Call it once.
   */
  dueRepeated(timer: { close(): void }, news?: { close(): void }): void
}
