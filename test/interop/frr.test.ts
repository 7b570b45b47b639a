/** holdfast and FRR's vrrpd in one VRRPv3 group. FRR has neither unicast nor version 2 with a password. */
import { describeFrr } from '../support/require.ts'
import { matchesOf } from './match.ts'
import { playMatches } from './matrix.ts'

describeFrr('a group of holdfast and FRR', () => {
  playMatches([...matchesOf('frr', 'v3 IPv4'), ...matchesOf('frr', 'v3 IPv6')], 4)
})
