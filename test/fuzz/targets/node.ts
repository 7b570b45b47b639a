import type { NodeView } from '../../../src/config/node-view.ts'
import { address } from '../../../src/wire/address.ts'

/** The node on which what was accepted is resolved. */
export const NODE_VIEW: NodeView = {
  interfaces: [
    {
      name: 'eth0',
      mtu: 1500,
      addresses: [
        { address: address('192.0.2.11'), prefixLength: 24 },
        { address: address('10.0.0.1'), prefixLength: 24 },
        { address: address('fe80::11'), prefixLength: 64 },
        { address: address('2001:db8::11'), prefixLength: 64 },
      ],
    },
    { name: 'eth1', mtu: 576, addresses: [{ address: address('198.51.100.11'), prefixLength: 24 }] },
    { name: 'lo', mtu: 65_536, addresses: [{ address: address('127.0.0.1'), prefixLength: 8 }] },
  ],
}
