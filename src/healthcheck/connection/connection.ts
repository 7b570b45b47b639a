/**
 * Opens one connection, also with TLS, within a deadline. This file decides that every address of a host name is tried.
 * A socket that is connected to itself counts as refused. A port in the ephemeral range sometimes becomes the source
 * port of its own connection, and a dead service would be found up. `connection.ts` does not know the data on the
 * connection.
 */
import { connect as connectTcp, type NetConnectOpts, type Socket } from 'node:net'
import type { Cutoff } from '../cutoff.ts'
import { DeadlinePassed, FailedProbe } from '../failed-probe.ts'
import type { HostName } from './host-name.ts'
import { NEXT_ADDRESS_AFTER } from './stream.ts'
import type { TlsClient } from './tls-client.ts'

export type Endpoint = {
  readonly place: { readonly host: HostName; readonly port: number } | { readonly unixSocket: string }
  readonly tls: TlsClient | undefined
}

export function formatEndpoint({ place }: Endpoint): string {
  if ('unixSocket' in place) return place.unixSocket
  return place.host.name.includes(':') ? `[${place.host.name}]:${place.port}` : `${place.host.name}:${place.port}`
}

export function isConnectedToItself(socket: Socket): boolean {
  return (
    socket.localPort !== undefined &&
    socket.localPort === socket.remotePort &&
    socket.localAddress === socket.remoteAddress
  )
}

/**
 * Opens a connection. The caller owns the socket. If the deadline passes first, the socket is destroyed. Rejects with
 * Error.
 */
export async function openConnection(endpoint: Endpoint, cutoff: Cutoff): Promise<Socket> {
  const { tls } = endpoint
  const target = await targetOf(endpoint, cutoff)
  // With TLS, the TLS client opens the TCP socket itself, because wrapping an open socket costs more CPU time.
  const socket = tls === undefined ? connectTcp(target) : await tls.connect(target)
  return opened(socket, endpoint, cutoff)
}

async function targetOf(endpoint: Endpoint, cutoff: Cutoff): Promise<NetConnectOpts> {
  const { place } = endpoint
  if ('unixSocket' in place) return { path: place.unixSocket }
  const { host, port } = place
  const addresses = await host.addresses(cutoff)
  if (cutoff.aborted) throw new DeadlinePassed(`connecting to ${formatEndpoint(endpoint)}`)
  const [only] = addresses
  if (addresses.length === 1 && only !== undefined) return { host: only.address, port }
  return {
    host: host.name,
    port,
    lookup: (_name, _options, done) => done(null, [...addresses]),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER,
  }
}

function opened(socket: Socket, endpoint: Endpoint, cutoff: Cutoff): Promise<Socket> {
  const place = formatEndpoint(endpoint)
  const last = endpoint.tls === undefined ? 'connect' : 'secureConnect'
  let during = `connecting to ${place}`
  // Without an error listener, an error of the socket would end the thread.
  socket.on('error', () => {})
  return new Promise((resolve, reject) => {
    const finish = (error?: Error) => {
      cutoff.removeEventListener('abort', late)
      socket.off('connect', connected).off(last, open).off('error', finish).off('close', gone)
      if (error === undefined) {
        resolve(socket)
        return
      }
      socket.destroy()
      reject(error)
    }
    const connected = () => {
      during = `TLS handshake with ${place}`
      if (!isConnectedToItself(socket)) return
      finish(new FailedProbe('connectionRefused', `No process listens on ${place}: the socket connected to itself`))
    }
    const open = () => finish()
    const gone = () => finish(new FailedProbe('connectionReset', `Connection closed while ${during}`))
    const late = () => finish(new DeadlinePassed(during))
    socket.once('connect', connected).once(last, open).once('error', finish).once('close', gone)
    if (cutoff.aborted) late()
    else cutoff.addEventListener('abort', late, { once: true })
  })
}
