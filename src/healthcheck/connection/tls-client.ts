/**
 * TLS for connections to one host name: context, session, verification. This file decides that TLS sessions are
 * resumed, because a full handshake makes a TLS check expensive. A session is not resumed after a certificate of its
 * chain has expired, nor for long, because a resumed handshake shows no certificate. `tls-client.ts` does not know
 * addresses and data.
 */

import { readFile } from 'node:fs/promises'
import { isIP, type NetConnectOpts } from 'node:net'
import {
  connect,
  createSecureContext,
  type DetailedPeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls'
import { defined } from '../../base/defined.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { TlsSpec } from '../check.ts'
import { disks } from '../disk-queue.ts'
import { codeOf, FailedProbe } from '../failed-probe.ts'
import { monotonicNow } from '../probe.ts'

/** Milliseconds after which a replaced certificate, or a replaced certificate authority, is noticed at the latest. */
const SESSION_LIFE = 60_000

export class TlsClient {
  readonly #spec: TlsSpec
  readonly #host: string
  #context: SecureContext | undefined
  #session: Buffer | undefined
  /** Number of the current certificate chain, so that sessions of a former chain are ignored. */
  #generation = 0
  /**
   * Time at which the TLS session ends; `undefined` without a session. Certificates end by the wall clock, sessions by
   * the monotonic clock.
   */
  #endsAt: Millis | undefined
  #certificatesEnd = Number.POSITIVE_INFINITY

  constructor(spec: TlsSpec, host: string) {
    this.#spec = spec
    this.#host = host.replace(/^\[(.*)\]$/, '$1')
  }

  /** Starts a TLS connection. The events `connect` and `secureConnect`, or `error`, follow. Throws FailedProbe. */
  async connect(target: NetConnectOpts): Promise<TLSSocket> {
    if (this.#endsAt !== undefined && (monotonicNow() >= this.#endsAt || Date.now() >= this.#certificatesEnd))
      this.#forget()
    this.#context ??= createSecureContext(await this.#authorities())
    const generation = this.#generation
    const { serverName } = this.#spec
    const secure = connect({
      // Name of the server. If `target` has a `host` (an address), that address replaces this name.
      host: serverName ?? this.#host,
      ...target,
      secureContext: this.#context,
      ...defined({ session: this.#session }),
      // An IP address must not be sent as SNI (RFC 6066 §3). The certificate is still compared with the address.
      servername: serverName ?? (isIP(this.#host) === 0 ? this.#host : ''),
      rejectUnauthorized: this.#spec.verify,
      ALPNProtocols: ['http/1.1'],
    })
    // An error may come before the caller has an error listener.
    secure.on('error', () => {})
    secure.on('session', (session: Buffer) => {
      if (generation === this.#generation) this.#session = session
    })
    secure.once('secureConnect', () => {
      if (!secure.isSessionReused()) this.#verified(secure)
    })
    return secure
  }

  #verified(secure: TLSSocket): void {
    this.#endsAt = plus(monotonicNow(), SESSION_LIFE)
    this.#certificatesEnd = this.#spec.verify ? earliestEnd(secure.getPeerCertificate(true)) : Number.POSITIVE_INFINITY
  }

  #forget(): void {
    this.#generation++
    this.#session = undefined
    this.#endsAt = undefined
    // The file with the certificate authorities may have changed, so the next connection reads it again.
    if (this.#spec.caFile !== undefined) this.#context = undefined
  }

  async #authorities(): Promise<{ ca?: string }> {
    const { caFile } = this.#spec
    if (caFile === undefined) return {}
    let ca: string
    try {
      ca = await disks.ask(caFile, () => readFile(caFile, 'utf8'))
    } catch (error) {
      throw new FailedProbe('unreadable', `Cannot read the authorities in ${caFile}: ${codeOf(error)}`)
    }
    // Node accepts a file without certificates silently, and then trusts no certificate. For this reason a file without
    // certificates is refused.
    if (!ca.includes('-----BEGIN ')) throw new FailedProbe('unreadable', `${caFile} contains no certificate`)
    return { ca }
  }
}

function earliestEnd(leaf: DetailedPeerCertificate): number {
  let earliest = Number.POSITIVE_INFINITY
  let certificate: DetailedPeerCertificate | undefined = leaf
  const seen = new Set<DetailedPeerCertificate>()
  while (certificate?.valid_to !== undefined && !seen.has(certificate)) {
    seen.add(certificate)
    earliest = Math.min(earliest, Date.parse(certificate.valid_to))
    certificate = certificate.issuerCertificate
  }
  return earliest
}
