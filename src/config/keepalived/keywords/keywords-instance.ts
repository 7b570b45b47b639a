/** Keywords of keepalived in instances, groups, scripts and other trackers, for the table in keywords.ts. */
import { type Block, type Keyword, keywords } from './keyword.ts'

const carried = keywords('vrrp_instance', 'carried')
const noEffect = keywords('vrrp_instance', 'noEffect')
const notSupported = keywords('vrrp_instance', 'notSupported')
const refused = keywords('vrrp_instance', 'refused')

const VIRTUAL_MAC = 'holdfast has no virtual MACs: addresses use the MAC of the interface'
const MAIL = 'holdfast sends no mail: use metrics and alerts'
const FIFO = 'holdfast writes to no FIFO: use notify programs, or events of the status API'
const DOWN =
  'Active_Down_Interval is three intervals (RFC 9568 §6.1); routers with another number do not agree on the Active'

/** Returns the notify keywords, which are the same in an instance and in a group. */
const notifications = (block: Block): readonly Keyword[] => [
  ...keywords(block, 'carried')('notify.active', 'notify_master'),
  ...keywords(block, 'carried')('notify.backup', 'notify_backup'),
  ...keywords(block, 'carried')('notify.fault', 'notify_fault'),
  ...keywords(block, 'carried')('notify.stop', 'notify_stop'),
  ...keywords(block, 'carried')('notify.change, which gets the arguments that keepalived appends', 'notify'),
  ...keywords(block, 'notSupported')(
    'if a reload removes a router, its notify program runs with FAULT',
    'notify_deleted',
  ),
  ...keywords(block, 'notSupported')(FIFO, 'notify_priority_changes'),
  ...keywords(block, 'notSupported')(MAIL, 'smtp_alert'),
]

const trackers = (block: Block): readonly Keyword[] => [
  ...keywords(block, 'carried')('track (healthcheck)', 'track_script', 'track_file', 'track_process'),
  ...keywords(block, 'carried')('track (interface)', 'track_interface'),
  ...keywords(block, 'refused')('holdfast has no BFD, so a BFD session cannot be tracked', 'track_bfd'),
]

export const INSTANCE_KEYWORDS: readonly Keyword[] = [
  ...carried('startAs', 'state'),
  ...carried('interface', 'interface'),
  ...carried('vrid', 'virtual_router_id'),
  ...carried('version; default: 2 for IPv4, 3 for IPv6', 'version', 'native_ipv6'),
  ...carried('priority', 'priority'),
  ...carried('advertisementInterval', 'advert_int'),
  ...carried('authentication', 'authentication'),
  ...carried('addresses', 'virtual_ipaddress'),
  ...carried('excludedAddresses', 'virtual_ipaddress_excluded'),
  ...carried('transport.unicast.source', 'unicast_src_ip'),
  ...carried('transport.unicast.peers', 'unicast_peer'),
  ...carried('transport.unicast.ttl', 'unicast_ttl'),
  ...carried('transport.multicast.source', 'mcast_src_ip'),
  ...carried('onlyListedPeers', 'check_unicast_src'),
  ...carried('fault, if there are no peers', 'unicast_fault_no_peer'),
  ...carried('preempt', 'preempt', 'nopreempt'),
  ...carried('preemptDelay', 'preempt_delay'),
  ...carried('announce.at', 'garp_master_delay'),
  ...carried('announce.copies', 'garp_master_repeat'),
  ...carried('announce.refresh', 'garp_master_refresh'),
  ...carried('announce.refreshCopies', 'garp_master_refresh_repeat'),
  ...carried('announce.onRival.delay', 'garp_lower_prio_delay'),
  ...carried('announce.onRival.copies', 'garp_lower_prio_repeat'),
  ...carried('assertOnLower', 'lower_prio_no_advert'),
  ...carried('lastAdvertisement', 'higher_prio_send_advert'),
  ...carried('checksum: message-only', 'v3_checksum_as_v2'),
  ...trackers('vrrp_instance'),
  ...notifications('vrrp_instance'),

  ...noEffect('the VIPs always accept packets (Accept_Mode)', 'accept'),
  ...noEffect('a router without its source address is always in fault', 'track_src_ip'),
  ...noEffect('the kernel reports the carrier (netlink), so polling is not needed', 'linkbeat_use_polling'),
  ...noEffect('an advertisement with another address list is always counted and accepted', 'skip_check_adv_addr'),
  ...noEffect('receive buffers have at least 4 MiB', 'kernel_rx_buf_size'),
  ...noEffect('keepalived ignores it as well', 'debug'),
  ...noEffect(
    'holdfast sets it on each interface to which it adds an IPv4 address with a network',
    'promote_secondaries',
  ),

  ...notSupported('this node accepts packets to the VIPs', 'no_accept'),
  ...notSupported('a router is in fault while its own interface is down', 'dont_track_primary'),
  ...notSupported('holdfast does not move routes: set them in notify programs', 'virtual_routes'),
  ...notSupported('holdfast does not move rules: set them in notify programs', 'virtual_rules'),
  ...notSupported('no program runs for a lower-priority advertisement', 'notify_master_rx_lower_pri'),
  ...notSupported('announcements are repeated on the interface of the router only', 'garp_extra_if', 'vmac_garp_intvl'),
  ...notSupported('holdfast does not synchronise connections', 'lvs_sync_daemon_interface'),
  ...notSupported(
    'after a stall, a router listens before it sends, by its own rules',
    'timer_expired_backup',
    'thread_timer_expired',
  ),

  ...refused(VIRTUAL_MAC, 'use_vmac', 'use_vmac_addr', 'vmac_xmit_base', 'use_ipvlan'),
  ...refused(DOWN, 'down_timer_adverts'),
  ...refused(
    'strict mode rejects advertisements and drops packets by rules that holdfast does not have',
    'strict_mode',
  ),
  ...refused('a group other than the one of RFC 9568 §5.1 cannot be used', 'mcast_dst_ip'),
  ...refused('a router runs in the VRF of holdfast: start holdfast in that VRF', 'vrf'),
  ...refused('an advertisement carries at least one address', 'no_virtual_ipaddress'),
  ...refused('checksums of version 3 are not sent in the form of keepalived 1.3.6', 'old_unicast_checksum'),
  ...refused('holdfast neither signs nor verifies advertisements', 'auth_hmac'),

  ...keywords('authentication', 'carried')('authentication.type', 'auth_type'),
  ...keywords('authentication', 'carried')('authentication.password', 'auth_pass'),
  ...keywords('authentication', 'refused')('holdfast neither signs nor verifies advertisements', 'auth_hmac'),

  ...keywords('vrrp_sync_group', 'carried')('members', 'group'),
  ...trackers('vrrp_sync_group'),
  ...notifications('vrrp_sync_group'),
  ...keywords('vrrp_sync_group', 'refused')(
    'weights of single members would separate the members',
    'sync_group_tracking_weight',
    'global_tracking',
  ),

  ...keywords('vrrp_script', 'carried')('exec', 'script'),
  ...keywords('vrrp_script', 'carried')('interval', 'interval'),
  ...keywords('vrrp_script', 'carried')('timeout', 'timeout'),
  ...keywords('vrrp_script', 'carried')('weight where it is tracked', 'weight'),
  ...keywords('vrrp_script', 'carried')('rise', 'rise'),
  ...keywords('vrrp_script', 'carried')('fall', 'fall'),
  ...keywords('vrrp_script', 'carried')('user', 'user'),
  ...keywords('vrrp_script', 'carried')('initial: down', 'init_fail'),

  ...keywords('track_file', 'carried')('file', 'file'),
  ...keywords('track_file', 'carried')('weight where it is tracked', 'weight'),
  ...keywords('track_file', 'notSupported')(
    'holdfast does not create the file: a missing file counts as 0',
    'init_file',
  ),

  ...keywords('vrrp_track_process', 'carried')('process', 'process'),
  ...keywords('vrrp_track_process', 'carried')('weight where it is tracked', 'weight'),
  ...keywords('vrrp_track_process', 'carried')('count', 'quorum'),
  ...keywords('vrrp_track_process', 'carried')('rise', 'fork_delay'),
  ...keywords('vrrp_track_process', 'carried')('fall', 'terminate_delay'),
  ...keywords('vrrp_track_process', 'carried')('rise and fall', 'delay'),
  ...keywords('vrrp_track_process', 'refused')('holdfast finds processes by name only', 'param_match', 'full_command'),
  ...keywords('vrrp_track_process', 'refused')('holdfast has no upper limit for the number of processes', 'quorum_max'),

  ...keywords('garp_group', 'carried')('announce.spacing', 'garp_interval'),
  ...keywords('garp_group', 'carried')('announce.spacingNa', 'gna_interval'),
  ...keywords('garp_group', 'carried')('the routers of the group', 'interface', 'interfaces'),
]
