/**
 * Detects that a connection has lost its local address. When an address leaves this machine, its connections no longer
 * work, but the kernel reports this only after a long time without answers (20 s). This file decides how often the
 * address is tested. Only the kernel's answer "not a local address" counts.
 */
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'

/** Milliseconds between two tests of the address. */
const LOOK_EVERY = 1_000

/**
 * Calls `lost` when this machine no longer has the local address of a socket. Returns a function that stops the tests.
 * An interface that is down keeps its addresses.
 */
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

/** Tells whether this machine lacks the address. No packet is sent: binding a socket asks the kernel. */
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
