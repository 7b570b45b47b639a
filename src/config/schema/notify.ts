/**
 * The key `notify:` of a virtual router or sync group: programs that run when its state changes (VR-NTF-01). This file
 * decides the options of these programs, and how long a program may run. This file knows nothing about their arguments.
 */
import type { NotifyPrograms } from '../../notify/notification.ts'
import { duration, section } from './field.ts'
import { argv, capabilities, unsafe, user } from './program.ts'

const NOTIFY_EXPECTED = 'a mapping with at least one of active, backup, fault, stop and change'

/**
 * Default time limit of a notify program. keepalived has no limit. In holdfast, a notify program waits until the
 * router's program before it has ended. A request to the API of a cloud, with one retry, ends within this limit. A
 * program that hangs delays the next program by this time at most.
 */
const TIMEOUT = '30s'

export const notify = () =>
  section(
    {
      active: argv().optional().describe('Runs when the router has become Active'),
      backup: argv().optional().describe('Runs when the router has become Backup, also at the start'),
      fault: argv().optional().describe('Runs when the router has gone into fault'),
      stop: argv().optional().describe('Runs when the daemon ends, after the addresses are removed, for 5s at most'),
      change: argv()
        .optional()
        .describe(
          'Runs for each of these with four more arguments, as in keepalived: INSTANCE or GROUP, name, state, priority',
        ),
      user: user().optional().describe('User of /etc/passwd that the programs run as, default: the user of the daemon'),
      capabilities: capabilities()
        .optional()
        .describe("keep: the programs have the daemon's capabilities, also as another user; default: none"),
      unsafe: unsafe()
        .optional()
        .describe(
          'Program that other users can change; refuse: the configuration is refused; skip: the program does not run; run: it runs; default: refuse',
        ),
      timeout: duration(100, 600_000).prefault(TIMEOUT).describe('Time after which a program is killed, default: 30s'),
    },
    NOTIFY_EXPECTED,
  )
    .refine((programs) => EVENTS.some((event) => programs[event] !== undefined), { error: NOTIFY_EXPECTED })
    .transform((programs): NotifyPrograms => programs)

/** Keys of `notify` that name a program. */
export const EVENTS = ['active', 'backup', 'fault', 'stop', 'change'] as const
