/**
 * Prepares the advertisements of one router: encodes an advertisement once as long as it stays the same, counts the
 * sent packets, and logs failures. The state machine decides when and why to send, and the segment has the socket.
 */
import { LOG } from '../../log/log.ts'
import type { Parameters } from '../../vrrp/parameters.ts'
import { advertisementDatagrams } from '../../vrrp/transmit.ts'
import type { Datagram, SendOutcome } from '../ports.ts'
import { Counters, type Recorder } from '../telemetry/recorder.ts'

export class Advertiser {
  /** Number of sent packets by kind (advertisement, priorityZero), one for each destination. */
  readonly sent = new Counters()
  /** Number of packets that could not be sent, by error code. */
  readonly failures = new Counters()
  readonly #router: string
  readonly #recorder: Recorder
  /** Datagrams of the last advertisement that was sent; empty if the last one was not sent. */
  #sentLast: readonly Datagram[] = []
  #encoded: { parameters: Parameters; priority: number; datagrams: readonly Datagram[] } | undefined

  constructor(router: string, recorder: Recorder) {
    this.#router = router
    this.#recorder = recorder
  }

  /** Counts and logs the outcomes of sending the datagrams that datagrams() returned. */
  sentAs(priority: number, datagrams: readonly Datagram[], outcomes: readonly SendOutcome[]): void {
    const sent = outcomes.filter(({ ok }) => ok).length
    this.#sentLast = sent > 0 ? datagrams : []
    this.sent.add(priority === 0 ? 'priorityZero' : 'advertisement', sent)
    outcomes.forEach((outcome, i) => {
      if (outcome.ok) return
      const { code, message } = outcome.failure
      this.failures.add(code)
      this.#recorder.logLimited(`${this.#router} send ${code}`, LOG.sendFailed, `${this.#router}: ${message}`, {
        router: this.#router,
        code,
        destination: datagrams[i]?.destination,
      })
    })
  }

  /** Adopts the advertisement that the guardian's clock sends for an engine that crashed. */
  adopt(parameters: Parameters): void {
    this.#sentLast = this.datagrams(parameters, parameters.priority)
  }

  /** Tells whether the next advertisement says the same as the last one, so that a clock can repeat it. */
  isRepetition(parameters: Parameters): boolean {
    return this.#sentLast === this.datagrams(parameters, parameters.priority)
  }

  /** Counts the datagrams of advertisements that the guardian's clock has sent. */
  repeated(rounds: number): void {
    this.sent.add('advertisement', rounds * this.#sentLast.length)
  }

  /**
   * Returns one datagram of the advertisement for each destination. An Active sends the same datagrams repeatedly, so
   * they are stored.
   */
  datagrams(parameters: Parameters, priority: number): readonly Datagram[] {
    if (this.#encoded?.parameters !== parameters || this.#encoded.priority !== priority) {
      this.#encoded = { parameters, priority, datagrams: advertisementDatagrams(parameters, priority) }
    }
    return this.#encoded.datagrams
  }
}
