/** Describes tests that need the programs of a real cluster (scripts/cluster-binaries.sh), root and network namespaces. */
import { describe, expect, test } from 'vitest'
import { describeNetns } from '../support/require.ts'
import { clusterPrograms } from './real-api.ts'

/** Skips the tests if a program is missing (`programs`; absent: all). With REQUIRE_CLUSTER=1 the tests fail instead. */
export function describeCluster(name: string, body: () => void, programs: readonly string[] = []): void {
  if (clusterPrograms(programs) !== undefined) describeNetns(name, body)
  else if (process.env.REQUIRE_CLUSTER === '1')
    describe(name, () => {
      test('this machine has what REQUIRE_CLUSTER=1 promises', () => expect(clusterPrograms(programs)).toBeDefined())
    })
  else describe.skipIf(true)(`${name} (missing here: scripts/cluster-binaries.sh)`, body)
}
