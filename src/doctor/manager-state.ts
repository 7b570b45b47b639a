/**
 * Reads the state file of a network manager: whether it manages an interface. The file of systemd-networkd is not a
 * documented format, so an unknown content gives `unknown`. PURE. This file does not know where the files are.
 */
export type ManagerState = 'managed' | 'unmanaged' | 'unknown'

/** Reads /run/NetworkManager/devices/INDEX, a keyfile. */
export function networkManagerState(text: string | undefined): ManagerState {
  const said = /^managed=(\w+)$/m.exec(text ?? '')?.[1]
  return said === undefined ? 'unknown' : said === 'true' ? 'managed' : 'unmanaged'
}

/** States of systemd-networkd before it has decided, and after it has released the interface. */
const NOT_IN_CHARGE = new Set(['pending', 'initialized', 'unmanaged', 'linger'])

/** Reads /run/systemd/netif/links/INDEX. */
export function networkdState(text: string | undefined): ManagerState {
  const said = /^ADMIN_STATE=(\w+)$/m.exec(text ?? '')?.[1]
  return said === undefined ? 'unknown' : NOT_IN_CHARGE.has(said) ? 'unmanaged' : 'managed'
}
