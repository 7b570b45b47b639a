/** `holdfast node-ip`: its three commands, which have the same options. */
import type { Register } from '../command.ts'
import type { NodeIpOptions } from '../node-ip.ts'

const ACTIONS = [
  ['show', 'print the address'],
  ['set', 'write the address to /run/nodeip-configuration and for kubelet and CRI-O, once per boot'],
  ['explain', 'print every address of this node, and why it was chosen or not'],
] as const

export const registerNodeIp: Register = (program, end) => {
  const nodeIp = program
    .command('node-ip')
    .description("find the node's own address for kubelet, CRI-O, OVN and the VIPs (as runtimecfg node-ip)")
  for (const [action, description] of ACTIONS) {
    nodeIp
      .command(action)
      .description(description)
      .argument('[values...]', 'VIPs, or a hint: an unused address in the network to choose')
      .option('-r, --retry-on-failure', 'wait until the node has an address')
      .option('-6, --prefer-ipv6', 'prefer IPv6 if the node has both families')
      .option(
        '-n, --network-type <name>',
        'network type of the cluster; addresses that this network uses internally are never chosen',
        'OVNKubernetes',
      )
      .option('-l, --user-managed-lb', 'the VIPs are on a load balancer outside of these nodes')
      .option('-p, --platform <name>', 'platform, as in the Infrastructure resource', '')
      .option(
        '--hint-file <file>',
        'file with NODEIP_HINT= or KUBELET_NODEIP_HINT=',
        '/etc/default/nodeip-configuration',
      )
      .option('--root <dir>', 'root folder of the files; addresses are always those of this machine', '/')
      .option('--json', 'print JSON (show, explain)')
      .action(async (values: string[], options: Omit<NodeIpOptions, 'values'>) => {
        const { nodeIpCommand } = await import('../node-ip.ts')
        end(await nodeIpCommand(action, { ...options, values }))
      })
  }
  // The call that registers this argument comes last. The commands above exist already and keep their suggestions for
  // options.
  nodeIp.showSuggestionAfterError(false)
}
