/**
 * holdfast and Debian's keepalived in one VRRPv3 group, as during a migration node by node: whoever has the higher
 * priority is Active, each takes over from the other and gives back, and neither finds anything to complain about.
 */
import { describeInterop } from '../support/require.ts'
import { matchesOf } from './match.ts'
import { playMatches } from './matrix.ts'

describeInterop('beside keepalived', () => {
  playMatches([...matchesOf('keepalived', 'v3 IPv4'), ...matchesOf('keepalived', 'v3 IPv6')], 4)
})
