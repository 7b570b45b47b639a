/** `holdfast vrid`: options. */
import { type Register, repeated } from '../command.ts'
import type { VridOptions } from '../vrid.ts'

export const registerVrid: Register = (program, end) => {
  program
    .command('vrid')
    .description('the VRIDs of an OpenShift cluster by its name; exit 1 if a cluster beside it has one of them')
    .argument('<name>', "the cluster's name")
    .option('--api <vrid>', 'another one for the API')
    .option('--ingress <vrid>', 'another one for ingress')
    .option('--beside <name>', 'another cluster on the same LAN; may be repeated', repeated)
    .option('--json', 'as JSON')
    .action(async (name: string, options: Omit<VridOptions, 'beside'> & { beside?: string[] }) => {
      const { vridCommand } = await import('../vrid.ts')
      end(vridCommand(name, { ...options, beside: options.beside ?? [] }))
    })
}
