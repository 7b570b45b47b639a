/**
 * Keywords of instances, groups, scripts and other trackers (keywords.ts). This file does not know how they are read.
 */
import { type Block, type Keyword, keywords } from './keyword.ts'

const carried = keywords('vrrp_instance', 'carried')
const noEffect = keywords('vrrp_instance', 'noEffect')
const notSupported = keywords('vrrp_instance', 'notSupported')
const refused = keywords('vrrp_instance', 'refused')

const VIRTUAL_MAC = 'addresses keep the MAC of the interface, and another one would surprise switches and peers'
const MAIL = 'no mail is sent: use metrics and their alerts'
const FIFO = 'nothing is written to it: use notify programs, or events of the status API'
const DOWN = 'Active_Down_Interval is three intervals (RFC 9568 §6.1), and another number splits the group'

/** The same in an instance and in a group. */
const notifications = (block: Block): readonly Keyword[] => [
  ...keywords(block, 'carried')('notify.active', 'notify_master'),
  ...keywords(block, 'carried')('notify.backup', 'notify_backup'),
  ...keywords(block, 'carried')('notify.fault', 'notify_fault'),
  ...keywords(block, 'carried')('notify.stop', 'notify_stop'),
  ...keywords(block, 'carried')('notify.change, which gets the arguments that keepalived appends', 'notify'),
  ...keywords(block, 'notSupported')(
    'a router that a reload takes away reports FAULT to its notify program',
    'notify_deleted',
  ),
  ...keywords(block, 'notSupported')(FIFO, 'notify_priority_changes'),
  ...keywords(block, 'notSupported')(MAIL, 'smtp_alert'),
]

const trackers = (block: Block): readonly Keyword[] => [
  ...keywords(block, 'carried')('track (healthcheck)', 'track_script', 'track_file', 'track_process'),
  ...keywords(block, 'carried')('track (interface)', 'track_interface'),
  ...keywords(block, 'refused')('there is no BFD, so its sessions cannot weigh anything', 'track_bfd'),
]

export const INSTANCE_KEYWORDS: readonly Keyword[] = [
  ...carried('startAs', 'state'),
  ...carried('interface', 'interface'),
  ...carried('vrid', 'virtual_router_id'),
  ...carried('version; without it 2 for IPv4 and 3 for IPv6', 'version', 'native_ipv6'),
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
  ...carried('fault, where there are no peers', 'unicast_fault_no_peer'),
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

  ...noEffect('addresses answer always (Accept_Mode)', 'accept'),
  ...noEffect('a router without its source address is in fault always', 'track_src_ip'),
  ...noEffect('carrier comes from netlink, which needs no polling', 'linkbeat_use_polling'),
  ...noEffect('an advertisement with another address list is counted and accepted either way', 'skip_check_adv_addr'),
  ...noEffect('receive buffers are at least 4 MiB', 'kernel_rx_buf_size'),
  ...noEffect('keepalived does nothing with it either', 'debug'),
  ...noEffect('it is set on every interface that gets an IPv4 address with a network', 'promote_secondaries'),

  ...notSupported('packets to the addresses are answered on this node', 'no_accept'),
  ...notSupported('a router is in fault while its own interface is down', 'dont_track_primary'),
  ...notSupported('the routes stay behind when the addresses move: set them in notify programs', 'virtual_routes'),
  ...notSupported('the rules stay behind when the addresses move: set them in notify programs', 'virtual_rules'),
  ...notSupported('no program is run for a lower-priority advertisement', 'notify_master_rx_lower_pri'),
  ...notSupported('only the interface of the router is announced on again', 'garp_extra_if', 'vmac_garp_intvl'),
  ...notSupported('connections are not synchronised', 'lvs_sync_daemon_interface'),
  ...notSupported(
    'a router that was away listens before it speaks, in a way of its own',
    'timer_expired_backup',
    'thread_timer_expired',
  ),

  ...refused(VIRTUAL_MAC, 'use_vmac', 'use_vmac_addr', 'vmac_xmit_base', 'use_ipvlan'),
  ...refused(DOWN, 'down_timer_adverts'),
  ...refused('strict mode refuses advertisements and drops packets to the addresses in ways of its own', 'strict_mode'),
  ...refused('a group other than the one of RFC 9568 §5.1 cannot be used', 'mcast_dst_ip'),
  ...refused('a router runs where holdfast runs: start it in that VRF', 'vrf'),
  ...refused('an advertisement carries at least one address', 'no_virtual_ipaddress'),
  ...refused('checksums of version 3 are not sent in the form of keepalived 1.3.6', 'old_unicast_checksum'),
  ...refused('advertisements would be neither signed nor verified', 'auth_hmac'),

  ...keywords('authentication', 'carried')('authentication.type', 'auth_type'),
  ...keywords('authentication', 'carried')('authentication.password', 'auth_pass'),
  ...keywords('authentication', 'refused')('advertisements would be neither signed nor verified', 'auth_hmac'),

  ...keywords('vrrp_sync_group', 'carried')('members', 'group'),
  ...trackers('vrrp_sync_group'),
  ...notifications('vrrp_sync_group'),
  ...keywords('vrrp_sync_group', 'refused')(
    'weights of single members would pull the group apart',
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
  ...keywords('track_file', 'notSupported')('the file is not made: while it is missing it counts as 0', 'init_file'),

  ...keywords('vrrp_track_process', 'carried')('process', 'process'),
  ...keywords('vrrp_track_process', 'carried')('weight where it is tracked', 'weight'),
  ...keywords('vrrp_track_process', 'carried')('count', 'quorum'),
  ...keywords('vrrp_track_process', 'carried')('rise', 'fork_delay'),
  ...keywords('vrrp_track_process', 'carried')('fall', 'terminate_delay'),
  ...keywords('vrrp_track_process', 'carried')('rise and fall', 'delay'),
  ...keywords('vrrp_track_process', 'refused')(
    'processes are known by their name alone',
    'param_match',
    'full_command',
  ),
  ...keywords('vrrp_track_process', 'refused')('there is no upper bound for the number of processes', 'quorum_max'),

  ...keywords('garp_group', 'carried')('announce.spacing', 'garp_interval'),
  ...keywords('garp_group', 'carried')('announce.spacingNa', 'gna_interval'),
  ...keywords('garp_group', 'carried')('which routers it is about', 'interface', 'interfaces'),
]
