/**
 * Lists the log events of `holdfast monitor`. The events of the monitor are part of the agent's table
 * (agent-events.ts), because both commands log in the same way. Pure.
 */
import { logEvents } from './log-event.ts'

export const MONITOR_EVENTS = logEvents<string>()({
  backendLeftOut: {
    level: 'warn',
    fields: ['problem'],
    means: 'A control plane node is no backend of HAProxy',
    act: 'look at the Node object that the message names',
  },
  backendsUnknown: {
    level: 'warn',
    fields: [],
    means: 'No usable control plane node is known; HAProxy keeps its configuration',
    act: 'look at the Node objects of the cluster, and at the log lines before; with --nodes-from look at the agent of the node',
  },
  haproxyFileNotChecked: {
    level: 'warn',
    fields: ['reason'],
    means: 'HAProxy’s program is not here, so a new haproxy.cfg was written without being checked',
    act: 'put HAProxy into the image of the monitor, or give `--haproxy`',
  },
  haproxyFileRefused: {
    level: 'error',
    fields: ['reason'],
    means:
      'A new haproxy.cfg cannot be made from the template, or HAProxy refuses the new file; the old haproxy.cfg stays in force',
    act: 'look at the template and the reason',
  },
  haproxyFileWritten: {
    level: 'info',
    fields: ['backends'],
    means: 'haproxy.cfg was written, with these API servers',
  },
  haproxyNotReloaded: {
    level: 'warn',
    fields: ['reason'],
    means: 'HAProxy did not get the order to reload; the order is repeated each second',
    act: 'check that HAProxy runs, and the path of its socket',
  },
  haproxyPortTaken: {
    level: 'error',
    fields: ['holders'],
    means:
      'HAProxy does not answer, and another program has one of its ports; VIPs lead to the API server of this node',
    act: 'stop the program at the address in `holders`; HAProxy takes the port at its next start',
  },
  haproxyReloaded: { level: 'info', fields: [], means: 'HAProxy got the order to read haproxy.cfg again' },
  haproxyUnusable: {
    level: 'warn',
    fields: ['answer'],
    means: 'HAProxy does not answer or has no backend: VIPs lead to the API server of this node',
    act: 'look at the log of HAProxy',
  },
  haproxyUsable: {
    level: 'info',
    fields: ['answer'],
    means: 'HAProxy answers and has a backend: VIPs lead to HAProxy',
  },
  monitorStarted: {
    level: 'info',
    fields: ['profile', 'vips', 'file'],
    means: 'HAProxy’s monitor begins',
  },
  monitorStopping: {
    level: 'info',
    fields: [],
    means: 'A signal ends HAProxy’s monitor, which first removes its nftables rules',
  },
  redirectChanged: {
    level: 'info',
    fields: ['change', 'family'],
    means: 'The rules that send the API’s VIPs to HAProxy were installed or removed',
  },
  redirectFailed: {
    level: 'error',
    fields: ['family', 'reason'],
    means: 'The rules that send the API’s VIPs to HAProxy cannot be changed; the change is tried again',
    act: 'see the reason; check that the monitor may use nft',
  },
  redirectForeign: {
    level: 'warn',
    fields: ['family', 'reason'],
    means: 'The table ocp_nat has content of another program, which stays',
    act: 'find the program that uses the table',
  },
})
