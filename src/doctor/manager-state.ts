/**
 * What a network manager has written down about an interface: whether it is in charge of it. systemd-networkd calls its file
 * private: what is not as known here is unknown. PURE. Refuses to know where the files are.
 */
export type ManagerState = 'managed' | 'unmanaged' | 'unknown'

/** /run/NetworkManager/devices/INDEX, a keyfile. */
export function networkManagerState(text: string | undefined): ManagerState {
  const said = /^managed=(\w+)$/m.exec(text ?? '')?.[1]
  return said === undefined ? 'unknown' : said === 'true' ? 'managed' : 'unmanaged'
}

/** Before it has decided, and after it has let go. */
const NOT_IN_CHARGE = new Set(['pending', 'initialized', 'unmanaged', 'linger'])

/** /run/systemd/netif/links/INDEX. */
export function networkdState(text: string | undefined): ManagerState {
  const said = /^ADMIN_STATE=(\w+)$/m.exec(text ?? '')?.[1]
  return said === undefined ? 'unknown' : NOT_IN_CHARGE.has(said) ? 'unmanaged' : 'managed'
}
