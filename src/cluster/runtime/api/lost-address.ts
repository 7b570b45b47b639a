/**
 * Whether a connection still has its own end: an address that has left this machine takes its connections with it, and the
 * kernel tells only when a peer that cannot answer has not answered for long enough (20 s). Decided here: how often is looked,
 * and that only the kernel's plain "not mine" counts.
 */
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'

/** Milliseconds. */
const LOOK_EVERY = 1_000

/** Of a socket; returns how to stop looking. An interface that is down keeps its addresses. */
export function onAddressLost(
  { localAddress }: { readonly localAddress?: string | undefined },
  lost: (address: string) => void,
  every = LOOK_EVERY,
): () => void {
  if (localAddress === undefined) return () => {}
  const looks = setInterval(() => {
    void isLost(localAddress).then((gone) => {
      if (gone) lost(localAddress)
    })
  }, every)
  return () => clearInterval(looks)
}

/** Nothing is sent: to bind is to ask the kernel. */
export function isLost(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    const end = (gone: boolean) => {
      socket.close()
      resolve(gone)
    }
    socket.once('error', (error) => end('code' in error && error.code === 'EADDRNOTAVAIL'))
    socket.bind({ address, port: 0, exclusive: true }, () => end(false))
  })
}
