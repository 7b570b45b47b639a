/** Words of OpenShift that have a meaning for nobody but its own programs, as they are written there: machine-config-operator 7ff337a4f (2026-08-20). */

/** Every node that may have the API's address has it, arbiters too. */
export const CONTROL_PLANE_LABEL = 'node-role.kubernetes.io/master'

/** Of every IPv4 VIP: `ip address` shows by it whose they are. */
export const VIP_LABEL = 'vip'

/** keepalived's keyword for how often the addresses are announced again. */
export const GARP_REFRESH = 'vrrp_garp_master_refresh'

/** Scripts that the machine config operator lays down beside keepalived, and the keys that their checks have. */
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

/** `chk_ingress` has no weight: its failure is a fault. */
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

/** In the order in which instances and groups name them, which is not the one in which they are defined. */
export const TRACKED_SCRIPTS = {
  api: ['chk_ocp_lb', 'chk_ocp_both', 'chk_mcs'],
  ingress: ['chk_ingress', 'chk_ingress_ready', 'chk_default_ingress'],
} as const
/** OVN-Kubernetes: all addresses of a node, as JSON. The first with prefix lengths, the second (older) without. */
export const HOST_ADDRESSES = ['k8s.ovn.org/host-cidrs', 'k8s.ovn.org/host-addresses'] as const

/** The machine config daemon of a node: whether it has what the cluster wants of it. */
export const CONFIG_STATE = 'machineconfiguration.openshift.io/state'
export const CONFIG_DONE = 'Done'
