/** Names and values of OpenShift's own programs, as in machine-config-operator 7ff337a4f (2026-08-20). */

/** Labels of a node that may have the API's address. OpenShift sets both, kubeadm the second one, and arbiters have neither. */
export const CONTROL_PLANE_LABELS = ['node-role.kubernetes.io/master', 'node-role.kubernetes.io/control-plane'] as const

/** Tells whether a node with these labels may have the API's address. */
export const isControlPlane = (labels: Readonly<Record<string, string>>): boolean =>
  CONTROL_PLANE_LABELS.some((label) => label in labels)

/** Label of an arbiter, a node for etcd's quorum alone. The pool of arbiters takes over the MachineConfigs of no other role. */
export const ARBITER_LABEL = 'node-role.kubernetes.io/arbiter'

/** Roles of the nodes in MachineConfigs. Pools that a user adds take over the MachineConfigs of the workers. */
export const CONFIG_ROLES = { controlPlane: 'master', worker: 'worker' } as const

/** Label of every IPv4 VIP, which `ip address` shows. */
export const VIP_LABEL = 'vip'

/** keepalived's keyword for the time between two announcements. */
export const GARP_REFRESH = 'vrrp_garp_master_refresh'

/** Scripts that the machine config operator installs for keepalived, with the settings of their checks. */
export const API_SCRIPTS = [
  {
    name: 'chk_ocp_lb',
    script: '/usr/bin/timeout 1.9 /etc/keepalived/chk_ocp_script.sh',
    interval: 2,
    weight: 20,
    rise: 3,
    fall: 3,
  },
  {
    name: 'chk_ocp_both',
    script: '/usr/bin/timeout 1.9 /etc/keepalived/chk_ocp_script_both.sh',
    interval: 2,
    weight: 5,
    rise: 3,
    fall: 3,
  },
  {
    name: 'chk_mcs',
    script: '/usr/bin/timeout 1.9 /etc/keepalived/chk_mcs_script.sh',
    interval: 2,
    weight: 3,
    rise: 3,
    fall: 3,
  },
] as const

const HEALTHZ = '/usr/bin/timeout 0.9 /usr/bin/curl -o /dev/null -Lfs http://localhost:1936/healthz'

/** Names of the ingress scripts. `chk_ingress` has no weight: a failure of this script puts the router in fault. */
export const INGRESS_SCRIPTS = [
  { name: 'chk_ingress_ready', script: `${HEALTHZ}/ready`, interval: 1, weight: 10, rise: 3, fall: 2 },
  { name: 'chk_ingress', script: HEALTHZ, interval: 1, weight: undefined, rise: 3, fall: 2 },
  {
    name: 'chk_default_ingress',
    script: '/usr/bin/timeout 4.9 /etc/keepalived/chk_default_ingress.sh',
    interval: 5,
    weight: 50,
    rise: 3,
    fall: 2,
  },
] as const

/**
 * Names of scripts in the order in which instances and groups list them, which is not the order of their definition.
 */
export const TRACKED_SCRIPTS = {
  api: ['chk_ocp_lb', 'chk_ocp_both', 'chk_mcs'],
  ingress: ['chk_ingress', 'chk_ingress_ready', 'chk_default_ingress'],
} as const
/** Annotations of OVN-Kubernetes with all addresses of a node, as JSON: with prefix lengths, and without (older). */
export const HOST_ADDRESSES = ['k8s.ovn.org/host-cidrs', 'k8s.ovn.org/host-addresses'] as const

/** Annotation of the machine config daemon: the state of the node's configuration. */
export const CONFIG_STATE = 'machineconfiguration.openshift.io/state'
export const CONFIG_DONE = 'Done'
