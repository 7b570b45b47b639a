/** Lists the log events of `holdfast corednsmonitor`. Pure. */
import { logEvents } from './log-event.ts'

export const DNS_LOG = logEvents<string>()({
  apiIntMoved: {
    level: 'warn',
    fields: ['address'],
    means: '`api-int` leads to another address: that of an external load balancer, or the VIP again',
  },
  corednsHealth: {
    level: 'info',
    fields: ['healthy'],
    means: 'CoreDNS on this node answers at its health port, or no longer answers',
  },
  corefileKept: {
    level: 'warn',
    or: 'info',
    fields: ['reason'],
    means:
      'No new Corefile can be made, so the old Corefile stays in force. `info` as long as the API has not answered yet',
    act: 'see the reason',
  },
  corefileNotWritten: {
    level: 'error',
    fields: ['file'],
    means: 'The new Corefile cannot be written; the old Corefile stays in force',
    act: 'check the folder and the disk that the message names',
  },
  corefileWritten: {
    level: 'info',
    fields: ['file', 'nodes', 'upstreams', 'apiInt'],
    means: 'A new Corefile was written; CoreDNS reads it within 45 s (plugin `reload`)',
  },
  dnsMonitorStopping: {
    level: 'info',
    fields: [],
    means: 'A signal ends `holdfast corednsmonitor`; the Corefile stays',
  },
  dnsNote: {
    level: 'warn',
    fields: [],
    means: 'A node or a server is left out of the Corefile',
    act: 'see the message',
  },
  agentNodesNotUsed: {
    level: 'warn',
    fields: [],
    means:
      'With --nodes-from: the agent of this node has stored no nodes, or its file cannot be used; the last nodes stay. Without a file for 30 s the process watches the nodes itself',
    act: 'look at the agent of this node, and at the folder',
  },
  dnsPortTaken: {
    level: 'error',
    fields: ['port', 'holders'],
    means: 'CoreDNS does not answer, and another program has its port',
    act: 'stop the program at the address in `holders`, or give CoreDNS another port in the template',
  },
  dnsReportNotWritten: {
    level: 'warn',
    fields: [],
    means: 'The report to the agent of this node cannot be written; the Corefile is not affected',
    act: 'check the folder that the message names',
  },
  dnsmasqNotReached: {
    level: 'warn',
    fields: [],
    means: 'dnsmasq does not answer on the message bus; the process tries again',
    act: 'check `systemctl status on-prem-dnsmasq`, and that the pod has /run/dbus',
  },
  dnsmasqRegistered: {
    level: 'info',
    fields: ['server'],
    means: 'dnsmasq forwards the names of the cluster to CoreDNS',
  },
  dnsmasqTakenBack: {
    level: 'info',
    fields: [],
    means:
      'dnsmasq no longer forwards the names of the cluster to CoreDNS, because CoreDNS does not answer or the process ends',
  },
})
