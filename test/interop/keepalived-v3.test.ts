/**
 * holdfast and Debian's keepalived in one VRRPv3 group, as during a migration node by node. The router with the higher priority is Active.
 * Each router takes over from the other and gives the address back, and neither logs an error.
 */
import { describeInterop } from '../support/require.ts'
import { matchesOf } from './match.ts'
import { playMatches } from './matrix.ts'

describeInterop('a VRRPv3 group of holdfast and keepalived', () => {
  playMatches([...matchesOf('keepalived', 'v3 IPv4'), ...matchesOf('keepalived', 'v3 IPv6')], 4)
})
