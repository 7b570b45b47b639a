/**
 * `holdfast agent`, also under the name dynkeepalived: parses the arguments and runs or prints. This file decides the
 * exit status, and that every invalid value is reported before anything starts.
 */

import { EXIT } from '../../app/exit-code.ts'
import { nodesAt, nodesIn, rememberedIn } from '../../cluster/runtime/api/node-source.ts'
import type { CommandResult } from '../command.ts'
import { agentHelp, agentOrder } from './agent-flags.ts'

export async function agentCommand(argv: readonly string[]): Promise<CommandResult> {
  const order = agentOrder(argv, process.env)
  if (order.do === 'help') return { exitCode: EXIT.ok, stdout: agentHelp(), stderr: '' }
  if (order.do === 'refuse') return { exitCode: EXIT.usage, stdout: '', stderr: withPrefix(order.problems) }
  const { settings } = order
  const notes = [...order.notes]
  if (settings.print === undefined) {
    const { agentRun } = await import('./agent-run.ts')
    return agentRun(settings, notes)
  }
  const [{ agentPrint }, { clusterAccess, serverIn }, { ClusterClient }, { localApi }] = await Promise.all([
    import('./agent-print.ts'),
    import('../../cluster/runtime/api/cluster-access.ts'),
    import('../../cluster/runtime/api/cluster-client.ts'),
    import('./agent-cluster.ts'),
  ])
  const { kubeconfig, nodesFile, stateDirectory } = settings
  const client = new ClusterClient(clusterAccess({ kubeconfig, local: localApi(settings) }))
  const nodes =
    nodesFile === undefined
      ? nodesAt(client, rememberedIn(stateDirectory), (reason) => notes.push(`${reason}; the stored nodes are used`))
      : nodesIn(nodesFile)
  const printed = await agentPrint(settings, { nodes, server: serverIn({ kubeconfig }) })
  return { ...printed, stderr: withPrefix(notes) + printed.stderr }
}

const withPrefix = (lines: readonly string[]): string => lines.map((line) => `holdfast: ${line}\n`).join('')
