/**
 * The key `notify:` of a virtual router or sync group: programs that are told of its changes of state (VR-NTF-01). Decided
 * here: what may be said of them, and how long one may run. This file does not know what they are told.
 */
import type { NotifyPrograms } from '../../notify/notification.ts'
import { duration, section } from './field.ts'
import { argv, capabilities, unsafe, user } from './program.ts'

const NOTIFY_WANTED = 'a mapping with one of active, backup, fault, stop and change wanted'

/**
 * keepalived lets them run for ever. Here the next one of the same router waits: a call of a cloud's API that is tried
 * again ends within this, and whoever hangs must not keep the last word from being said for longer.
 */
const TIMEOUT = '30s'

export const notify = () =>
  section(
    {
      active: argv().optional().describe('Run when it has become Active'),
      backup: argv().optional().describe('Run when it has become Backup, also at the start'),
      fault: argv().optional().describe('Run when it has gone into fault'),
      stop: argv().optional().describe('Run when the daemon ends, after the addresses are off, for 5s at most'),
      change: argv()
        .optional()
        .describe(
          'Run for each of these with four more arguments, which are those of keepalived: INSTANCE or GROUP, name, state, priority',
        ),
      user: user().optional().describe('They run as this user of /etc/passwd, default: as the daemon'),
      capabilities: capabilities()
        .optional()
        .describe("keep: they have the daemon's capabilities, as its own user and as root; default none"),
      unsafe: unsafe()
        .optional()
        .describe('One that others can change: refuse = the file is wrong, skip = it is left out, run; default refuse'),
      timeout: duration(100, 600_000).prefault(TIMEOUT).describe('One that runs for longer is killed, default 30s'),
    },
    NOTIFY_WANTED,
  )
    .refine((programs) => EVENTS.some((event) => programs[event] !== undefined), { error: NOTIFY_WANTED })
    .transform((programs): NotifyPrograms => programs)

/** Keys that name a program. */
export const EVENTS = ['active', 'backup', 'fault', 'stop', 'change'] as const
