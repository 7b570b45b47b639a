/** Counts and logs the operator's writes to the API. A problem that repeats is logged as a warning once. */
import { AGENT_LOG, type AgentLogging, repeated } from '../../../log/agent-events.ts'
import type { FailureKind } from '../api/api-failure.ts'
import type { Written } from '../status/status-api.ts'
import type { OperatorAccount } from './operator-account.ts'

export class WriteCounters {
  readonly #account: OperatorAccount
  readonly #log: AgentLogging
  /** Reason of the last failed write, by the kind of the object. */
  readonly #problems = new Map<string, string>()
  #ended = false

  constructor(account: OperatorAccount, log: AgentLogging) {
    this.#account = account
    this.#log = log
  }

  end(): void {
    this.#ended = true
  }

  /** Returns the outcome of a write. `object`: kind of the written object. */
  async of(writing: Promise<Written>, object: string): Promise<Written> {
    const written = await writing
    // The end of a term aborts writes, which is no failure.
    if (this.#ended) return written
    this.#account.wrote(written.kind)
    if (written.kind === 'done') this.#problems.delete(object)
    if (written.kind === 'done' || written.kind === 'missing') return written
    const refusal = REFUSALS.find(({ status }) => written.why.startsWith(`${status}: `))
    if (refusal !== undefined) this.#account.failed(refusal.kind)
    const isKnown = this.#problems.get(object) === written.why
    this.#problems.set(object, written.why)
    const event = isKnown ? repeated(AGENT_LOG.operatorNotWritten) : AGENT_LOG.operatorNotWritten
    this.#log(event, `${object}: ${written.why}${refusal?.means ?? ''}`, { object, result: written.kind })
    return written
  }
}

/** Refusals that are also counted as failures of the API, because no right of a single object is missing. */
const REFUSALS = [
  {
    status: 401,
    kind: 'unauthorized',
    means:
      '; the API does not accept the credentials of this operator: its ServiceAccount is deleted, or its token is too old',
  },
  { status: 403, kind: 'forbidden', means: '' },
] as const satisfies readonly { readonly status: number; readonly kind: FailureKind; readonly means: string }[]
