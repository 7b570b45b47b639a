/**
 * Opens one connection, TLS included, within a deadline. Decided here: every address of a name is tried, and a socket
 * that was connected to itself is a refusal (a poll of a port in the ephemeral range meets its own SYN sooner or later,
 * and would find a dead service alive). Refuses to know what is said on the connection.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import type { Cutoff } from './cutoff.ts'
import { DeadlinePassed, FailedProbe } from './failed-probe.ts'
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

/** The caller owns the socket; it is destroyed when the signal is aborted before it is open. Rejects with Error. */
export async function openConnection(endpoint: Endpoint, signal: Cutoff): Promise<Socket> {
  const socket = await openTcp(endpoint, signal)
  if (endpoint.tls === undefined) return socket
  const { tls } = endpoint
  try {
    return await settled(
      await tls.wrap(socket),
      'secureConnect',
      `TLS handshake with ${formatEndpoint(endpoint)}`,
      signal,
    )
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function openTcp(endpoint: Endpoint, signal: Cutoff): Promise<Socket> {
  const { place } = endpoint
  const during = `connecting to ${formatEndpoint(endpoint)}`
  if ('unixSocket' in place) return settled(connectTcp({ path: place.unixSocket }), 'connect', during, signal)
  const addresses = await place.host.addresses(signal)
  if (signal.aborted) throw new DeadlinePassed(during)
  const [only] = addresses
  const socket =
    addresses.length === 1 && only !== undefined
      ? connectTcp({ host: only.address, port: place.port })
      : connectTcp({
          host: place.host.name,
          port: place.port,
          lookup: (_name, _options, done) => done(null, [...addresses]),
          autoSelectFamily: true,
          autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER,
        })
  await settled(socket, 'connect', during, signal)
  if (isConnectedToItself(socket)) {
    socket.destroy()
    throw new FailedProbe('connectionRefused', `Nobody listens on ${formatEndpoint(endpoint)}: the socket met itself`)
  }
  return socket
}

function settled<S extends Socket>(socket: S, event: string, during: string, signal: Cutoff): Promise<S> {
  // An error between two listeners would end the thread.
  socket.on('error', () => {})
  return new Promise((resolve, reject) => {
    const finish = (error?: Error) => {
      signal.removeEventListener('abort', late)
      socket.off(event, open).off('error', finish).off('close', gone)
      if (error === undefined) {
        resolve(socket)
        return
      }
      socket.destroy()
      reject(error)
    }
    const open = () => finish()
    const gone = () => finish(new FailedProbe('connectionReset', `Connection closed while ${during}`))
    const late = () => finish(new DeadlinePassed(during))
    socket.once(event, open).once('error', finish).once('close', gone)
    if (signal.aborted) late()
    else signal.addEventListener('abort', late, { once: true })
  })
}
