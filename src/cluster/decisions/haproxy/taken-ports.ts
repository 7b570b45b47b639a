/** Decides from the ports in use whether another program keeps HAProxy from its start. Pure. */

/** Returns the ports at which HAProxy listens with this haproxy.cfg. */
export const bindPorts = (configuration: string): readonly number[] => [
  ...new Set([...configuration.matchAll(/^\s*bind\s+\S*:(\d{1,5})(?=\s|$)/gm)].map(([, port]) => Number(port))),
]

/**
 * Returns the ports that another program has, while HAProxy does not answer. HAProxy listens at all its ports or at
 * none. If all these ports are in use, a HAProxy that does not answer has them. `isUsed` tells whether a socket waits
 * at a port.
 */
export function takenPorts(ports: readonly number[], isUsed: (port: number) => boolean): readonly number[] {
  const used = ports.filter(isUsed)
  return used.length === ports.length ? [] : used
}
