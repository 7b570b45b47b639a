/** `holdfast node-ip`: its three commands, which have the same options. */
import type { Register } from '../command.ts'
import type { NodeIpOptions } from '../node-ip.ts'

const ACTIONS = [
  ['show', 'print it'],
  ['set', 'write it down in /run/nodeip-configuration and for kubelet and CRI-O, once per boot'],
  ['explain', 'every address of this node, and why it was chosen or not'],
] as const

export const registerNodeIp: Register = (program, end) => {
  const nodeIp = program
    .command('node-ip')
    .description("which address is the node's own, for kubelet, CRI-O, OVN and the VIPs (as runtimecfg node-ip)")
  for (const [action, description] of ACTIONS) {
    nodeIp
      .command(action)
      .description(description)
      .argument('[values...]', 'VIPs; or a hint: an address in the wanted network that no node has')
      .option('-r, --retry-on-failure', 'wait until there is an address')
      .option('-6, --prefer-ipv6', 'IPv6 first where the node has both')
      .option('-n, --network-type <name>', "whose internal addresses don't count", 'OVNKubernetes')
      .option('-l, --user-managed-lb', 'VIPs are not on these nodes: no node is remote to them')
      .option('-p, --platform <name>', 'as in the Infrastructure resource', '')
      .option('--hint-file <file>', 'has NODEIP_HINT= or KUBELET_NODEIP_HINT=', '/etc/default/nodeip-configuration')
      .option('--root <dir>', 'where the files are; addresses are always those of this machine', '/')
      .option('--json', 'as JSON (show, explain)')
      .action(async (values: string[], options: Omit<NodeIpOptions, 'values'>) => {
        const { nodeIpCommand } = await import('../node-ip.ts')
        end(await nodeIpCommand(action, { ...options, values }))
      })
  }
  // Last: the commands above have been made by now and keep suggesting options.
  nodeIp.showSuggestionAfterError(false)
}
