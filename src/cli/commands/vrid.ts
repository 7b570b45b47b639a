/** `holdfast vrid`: options. */
import { type Register, repeated } from '../command.ts'
import type { VridOptions } from '../vrid.ts'

export const registerVrid: Register = (program, end) => {
  program
    .command('vrid')
    .description(
      'print the VRIDs of an OpenShift cluster by its name; exit 1 if another cluster on the LAN has one of them',
    )
    .argument('<name>', 'name of the cluster')
    .option('--api <vrid>', 'VRID of the API, in place of the VRID that the name of the cluster gives')
    .option('--ingress <vrid>', 'VRID of ingress, in place of the VRID that the name of the cluster gives')
    .option('--beside <name>', 'name of another cluster on the same LAN; may be repeated', repeated)
    .option('--json', 'print JSON')
    .action(async (name: string, options: Omit<VridOptions, 'beside'> & { beside?: string[] }) => {
      const { vridCommand } = await import('../vrid.ts')
      end(vridCommand(name, { ...options, beside: options.beside ?? [] }))
    })
}
