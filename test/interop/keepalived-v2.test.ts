/**
 * holdfast and Debian's keepalived in one VRRPv2 group with a password, as OpenShift's files have it. Advertisements a
 * second apart make every step slow, so the rows run beside each other: all of them wait more than they work.
 */
import { describeInterop } from '../support/require.ts'
import { matchesOf } from './match.ts'
import { playMatches } from './matrix.ts'

describeInterop('beside keepalived', () => {
  playMatches(matchesOf('keepalived', 'v2 PASS IPv4'), 5)
})
