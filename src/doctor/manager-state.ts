/**
 * Reads the state file of a network manager, to find whether it manages an interface. The file format of
 * systemd-networkd is not documented, so an unknown content gives `unknown`. PURE. This file knows nothing about the
 * paths of the files.
 */
export type ManagerState = 'managed' | 'unmanaged' | 'unknown'

/** Reads /run/NetworkManager/devices/INDEX, the keyfile of NetworkManager for an interface. */
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
