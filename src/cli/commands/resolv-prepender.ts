/** `holdfast resolv-prepender`: its options, some of which are those of `holdfast node-ip`. */
import type { Register } from '../command.ts'
import type { PrependerFlags } from '../dns/resolv-prepender.ts'

export const registerResolvPrepender: Register = (program, end) => {
  program
    .command('resolv-prepender')
    .description("make the node's own DNS server the first one of the node (a unit of systemd runs this; docs/dns.md)")
    .argument('[values...]', 'VIPs of the cluster, as for node-ip')
    .requiredOption('--domain <name>', 'NAME.DOMAIN of the cluster, the first search domain')
    .option('--node-address <address>', "the node's address, in place of the choice of node-ip")
    .option('-6, --prefer-ipv6', 'prefer IPv6 if the node has both families')
    .option('-n, --network-type <name>', 'network type of the cluster', 'OVNKubernetes')
    .option('-l, --user-managed-lb', 'the VIPs are on a load balancer outside of these nodes')
    .option('-p, --platform <name>', 'platform, as in the Infrastructure resource', '')
    .option('--hint-file <file>', 'file with NODEIP_HINT=', '/etc/default/nodeip-configuration')
    .option('--root <dir>', 'root folder of the files', '/')
    .action(async (values: string[], options: PrependerFlags) => {
      const { resolvPrependerCommand } = await import('../dns/resolv-prepender.ts')
      end(await resolvPrependerCommand(values, options))
    })
}
