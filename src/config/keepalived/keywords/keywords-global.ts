/** Keywords of keepalived at the top of the file and in global_defs, for the table in keywords.ts. */
import { type Keyword, keywords } from './keyword.ts'

const carried = keywords('global_defs', 'carried')
const noEffect = keywords('global_defs', 'noEffect')
const notSupported = keywords('global_defs', 'notSupported')
const refused = keywords('global_defs', 'refused')

const MAIL = 'holdfast sends no mail: use metrics and alerts'
const IPVS = 'for IPVS (virtual_server), which holdfast does not have'
const BFD = 'for BFD, which holdfast does not have'
const SCHEDULING = 'scheduling is set with --realtime or by systemd'
const BUFFERS = 'receive buffers have at least 4 MiB, and an overflow is reported and handled'
const SNMP = 'holdfast has no SNMP agent: use /metrics'
const FIFO = 'holdfast writes to no FIFO: use notify programs, or events of the status API'
const FIREWALL = 'holdfast adds no firewall rules: they are for virtual MACs and no_accept'

export const GLOBAL_KEYWORDS: readonly Keyword[] = [
  ...keywords('file', 'carried')('virtualRouters', 'vrrp_instance'),
  ...keywords('file', 'carried')('syncGroups', 'vrrp_sync_group'),
  ...keywords('file', 'carried')('healthchecks (exec)', 'vrrp_script'),
  ...keywords('file', 'carried')('healthchecks (file)', 'track_file', 'vrrp_track_file'),
  ...keywords('file', 'carried')('healthchecks (process)', 'vrrp_track_process'),
  ...keywords('file', 'carried')(
    'announce.spacing, announce.spacingNa of the routers on these interfaces',
    'garp_group',
  ),
  ...keywords('file', 'carried')('its keywords are below', 'global_defs'),
  ...keywords('file', 'noEffect')(
    'the kernel reports the carrier (netlink), so polling is not needed',
    'linkbeat_use_polling',
    'linkbeat_interfaces',
  ),
  ...keywords('file', 'noEffect')('holdfast has its own run directory', 'use_pid_dir', 'instance'),
  ...keywords('file', 'noEffect')('holdfast has its own time limit for a shutdown', 'child_wait_time'),
  ...keywords('file', 'noEffect')(FIREWALL, 'namespace_with_ipsets'),
  ...keywords('file', 'notSupported')(
    'the address is not added: use the network configuration of the node',
    'static_ipaddress',
  ),
  ...keywords('file', 'notSupported')(
    'the routes are not added: use the network configuration of the node',
    'static_routes',
  ),
  ...keywords('file', 'notSupported')(
    'the rules are not added: use the network configuration of the node',
    'static_rules',
  ),
  ...keywords('file', 'notSupported')('static addresses and routes are not tracked', 'track_group'),
  ...keywords('file', 'notSupported')('a change of an interface counts immediately', 'interface_up_down_delays'),
  ...keywords('file', 'notSupported')(
    'holdfast does not configure IPVS: keep keepalived for it, with --check',
    'virtual_server',
    'virtual_server_group',
    'SSL',
    'net_namespace_ipvs',
  ),
  ...keywords('file', 'notSupported')('holdfast has no BFD', 'bfd_instance'),
  ...keywords('file', 'refused')(
    'keepalived would run in another network namespace: start holdfast there (ip netns exec)',
    'net_namespace',
  ),

  ...carried('user of each check and notify program; for root also capabilities: keep', 'script_user'),
  ...carried(
    'unsafe: skip (without this keyword: run), for a program of root that other users can change',
    'enable_script_security',
  ),
  ...carried('version', 'vrrp_version'),
  ...carried('announce.at', 'vrrp_garp_master_delay'),
  ...carried('announce.copies', 'vrrp_garp_master_repeat'),
  ...carried('announce.refresh', 'vrrp_garp_master_refresh'),
  ...carried('announce.refreshCopies', 'vrrp_garp_master_refresh_repeat'),
  ...carried('announce.onRival.delay', 'vrrp_garp_lower_prio_delay'),
  ...carried('announce.onRival.copies', 'vrrp_garp_lower_prio_repeat'),
  ...carried('announce.spacing', 'vrrp_garp_interval'),
  ...carried('announce.spacingNa', 'vrrp_gna_interval'),
  ...carried('announce.copies: 1, announce.at: [0ms]', 'vrrp_min_garp'),
  ...carried('assertOnLower', 'vrrp_lower_prio_no_advert'),
  ...carried('lastAdvertisement', 'vrrp_higher_prio_send_advert'),
  ...carried('onlyListedPeers', 'vrrp_check_unicast_src'),
  ...carried('interface of each router that names none', 'default_interface'),

  ...noEffect('holdfast always waits for a missing interface', 'dynamic_interfaces'),
  ...noEffect(SCHEDULING, 'max_auto_priority', 'min_auto_priority_delay', 'vrrp_priority', 'vrrp_no_swap'),
  ...noEffect(SCHEDULING, 'vrrp_rt_priority', 'vrrp_cpu_affinity', 'vrrp_rlimit_rttime', 'vrrp_rlimit_rtime'),
  ...noEffect(BUFFERS, 'vrrp_netlink_cmd_rcv_bufs', 'vrrp_netlink_cmd_rcv_bufs_force', 'vrrp_netlink_monitor_rcv_bufs'),
  ...noEffect(
    BUFFERS,
    'vrrp_netlink_monitor_rcv_bufs_force',
    'process_monitor_rcv_bufs',
    'process_monitor_rcv_bufs_force',
  ),
  ...noEffect(BUFFERS, 'vrrp_rx_bufs_policy', 'vrrp_rx_bufs_multiplier'),
  ...noEffect('it is for mail and SNMP, which holdfast does not have', 'router_id'),
  ...noEffect('processes keep their names', 'process_names', 'process_name', 'vrrp_process_name'),
  ...noEffect('an advertisement with another address list is always counted and accepted', 'vrrp_skip_check_adv_addr'),
  ...noEffect('advertisements of unknown routers are always counted', 'log_unknown_vrids'),
  ...noEffect('a configuration with an error is never put in force', 'reload_check_config'),
  ...noEffect('it applies to the includes after it', 'include_check'),
  ...noEffect('the files are read once and not copied', 'tmp_config_directory', 'config_save_dir'),
  ...noEffect('the dump has one name', 'data_use_instance'),
  ...noEffect('_RANDOM has a new value each time the file is read', 'random_seed'),
  ...noEffect('files of holdfast have mode 0600', 'umask'),
  ...noEffect('paths of programs are used as they are written', 'use_symlink_paths'),
  ...noEffect(
    FIREWALL,
    'vrrp_iptables',
    'vrrp_ipsets',
    'nftables',
    'nftables_priority',
    'nftables_ifindex',
    'nftables_counters',
  ),
  ...noEffect('holdfast has no virtual MACs', 'disable_local_igmp', 'vmac_prefix', 'vmac_addr_prefix'),
  ...noEffect(
    IPVS,
    'nftables_ipvs',
    'nftables_ipvs_priority',
    'nftables_ipvs_start_fwmark',
    'lvs_timeouts',
    'lvs_flush',
  ),
  ...noEffect(
    IPVS,
    'lvs_flush_on_stop',
    'lvs_flush_onstop',
    'lvs_netlink_cmd_rcv_bufs',
    'lvs_netlink_cmd_rcv_bufs_force',
  ),
  ...noEffect(IPVS, 'lvs_netlink_monitor_rcv_bufs', 'lvs_netlink_monitor_rcv_bufs_force', 'lvs_process_name', 'lvs_id'),
  ...noEffect(IPVS, 'rs_init_notifies', 'no_checker_emails', 'smtp_alert_checker', 'checker_log_all_failures'),
  ...noEffect(IPVS, 'checker_process_name', 'checker_priority', 'checker_no_swap', 'checker_rt_priority'),
  ...noEffect(IPVS, 'checker_cpu_affinity', 'checker_rlimit_rttime', 'checker_rlimit_rtime'),
  ...noEffect(BFD, 'bfd_process_name', 'bfd_priority', 'bfd_no_swap', 'bfd_rt_priority', 'bfd_cpu_affinity'),
  ...noEffect(BFD, 'bfd_rlimit_rttime', 'bfd_rlimit_rtime'),

  ...notSupported(MAIL, 'notification_email', 'notification_email_from', 'smtp_server', 'smtp_helo_name'),
  ...notSupported(MAIL, 'smtp_connect_timeout', 'smtp_alert', 'smtp_alert_vrrp', 'no_email_faults'),
  ...notSupported(SNMP, 'snmp_socket', 'enable_traps', 'enable_snmp_vrrp', 'enable_snmp_keepalived', 'enable_snmp_rfc'),
  ...notSupported(SNMP, 'enable_snmp_rfcv2', 'enable_snmp_rfcv3', 'enable_snmp_checker'),
  ...notSupported('holdfast has no D-Bus interface: use the status API', 'enable_dbus', 'dbus_service_name'),
  ...notSupported(FIFO, 'notify_fifo', 'notify_fifo_script', 'vrrp_notify_fifo', 'vrrp_notify_fifo_script'),
  ...notSupported(FIFO, 'vrrp_notify_priority_changes', 'fifo_write_vrrp_states_on_reload', 'lvs_notify_fifo'),
  ...notSupported(FIFO, 'lvs_notify_fifo_script'),
  ...notSupported('the script does not run: use ExecStartPre= of systemd', 'startup_script', 'startup_script_timeout'),
  ...notSupported(
    'the script does not run: use ExecStopPost= of systemd',
    'shutdown_script',
    'shutdown_script_timeout',
  ),
  ...notSupported('routers start immediately, and first listen for an Active_Down_Interval', 'vrrp_startup_delay'),
  ...notSupported(
    'announcements are repeated on the interface of the router only',
    'vrrp_garp_extra_if',
    'vrrp_vmac_garp_intvl',
  ),
  ...notSupported(
    'a file cannot trigger a reload: send SIGHUP, or use holdfast reload',
    'reload_time_file',
    'reload_repeat',
  ),
  ...notSupported('holdfast does not use this file: holdfast reload waits until the reload is done', 'reload_file'),
  ...notSupported('holdfast does not synchronise connections', 'lvs_sync_daemon'),

  ...refused('a group other than 224.0.0.18 cannot be used', 'vrrp_mcast_group4'),
  ...refused('a group other than ff02::12 cannot be used', 'vrrp_mcast_group6'),
  ...refused(
    'Active_Down_Interval is three intervals (RFC 9568 §6.1); routers with another number do not agree on the Active',
    'vrrp_down_timer_adverts',
  ),
  ...refused(
    'strict mode rejects advertisements and drops packets by rules that holdfast does not have',
    'vrrp_strict',
  ),
]
