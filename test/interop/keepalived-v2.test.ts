/**
 * holdfast and Debian's keepalived in one VRRPv2 group with a password, as OpenShift's files configure it. At an
 * interval of a second every step is slow. For this reason the rows run beside each other: all of them wait more than
 * they work.
 */
import { describeInterop } from '../support/require.ts'
import { matchesOf } from './match.ts'
import { playMatches } from './matrix.ts'

describeInterop('a VRRPv2 group of holdfast and keepalived', () => {
  playMatches(matchesOf('keepalived', 'v2 PASS IPv4'), 8)
})
