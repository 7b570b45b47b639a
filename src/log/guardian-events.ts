/**
 * Log events of the guardian (native/guardian), which is written in C and repeats code and level in its sources. A test
 * compares the sources with this table. Pure.
 */
import { logEvents } from './log-event.ts'

const FAILED_CALL = ['syscall', 'code'] as const

export const GUARDIAN_EVENTS = logEvents<string>()({
  capabilitiesNotRaised: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'The guardian cannot pass the capabilities of its file on to the engine',
    act: 'start holdfast as root, or see docs/privileges.md',
  },
  coreDumpsNotLimited: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'A crash of the engine may write a core dump, which delays the removal of its addresses',
    act: 'allow setrlimit(2) for the guardian',
  },
  engineAnswers: { level: 'warn', fields: [], means: 'The engine answers again after `engineSilent`' },
  engineKilled: {
    level: 'error',
    fields: ['signal', 'core'],
    means: 'A signal ended the engine',
    act: 'look for the sender of the signal, or for a crash, in the lines before',
  },
  engineNotRestarted: {
    level: 'warn',
    fields: ['reason'],
    means: 'The engine died and the guardian released its addresses, although `onCrash: restart` is configured',
    act: 'look at `reason`; docs/failures.md lists the cases',
  },
  engineNotStarted: {
    level: 'error',
    fields: ['program', ...FAILED_CALL],
    means: 'The guardian cannot start the engine, and ends',
    act: 'check that the program of the line exists and may be executed',
  },
  engineNotWatched: {
    level: 'error',
    fields: FAILED_CALL,
    means: 'The guardian cannot wait for the engine, and ends',
    act: 'report it as a bug',
  },
  engineRestarted: {
    level: 'warn',
    fields: ['restarts', 'ms'],
    means: 'The engine crashed and the guardian started it again; the addresses stay (`onCrash: restart`)',
    act: 'find out why the engine ended (lines before); a second crash within a minute moves the addresses',
  },
  engineReplaced: {
    level: 'info',
    fields: ['restarts', 'ms'],
    means: 'The engine ordered its replacement (`holdfast upgrade`), and the guardian started the next engine',
  },
  engineSilent: {
    level: 'warn',
    fields: ['silentMs'],
    means: 'The engine has not answered for 2 seconds',
    act: 'look for CPU load, swapping, or a stopped (SIGSTOP) engine',
  },
  messageIgnored: {
    level: 'warn',
    fields: ['reason', 'bytes'],
    means: 'The guardian ignored a malformed message of the engine',
    act: 'check that engine and guardian come from the same release',
  },
  noClock: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'The guardian cannot start its clock thread, so the engine sends all advertisements itself',
    act: 'look at `code`',
  },
  noRealtime: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'The kernel refused the real-time priority that `--realtime` requests',
    act: 'grant CAP_SYS_NICE, or raise RLIMIT_RTPRIO',
  },
  noStarter: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'The process that starts the engine again is missing or has ended, so a crash releases the addresses',
    act: 'restart the daemon at a quiet moment',
  },
  noSharedMemory: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'Engine and guardian share no memory: a frozen engine keeps its addresses',
    act: 'allow memfd_create(2) for the guardian',
  },
  noWatchdog: {
    level: 'warn',
    fields: [],
    means: 'The guardian cannot see whether the engine works, and sends no watchdog message to systemd',
    act: 'see `noSharedMemory`',
  },
  notConfined: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'The kernel refused the seccomp filter of the guardian; the guardian works without the filter',
    act: 'look at `code`; the filter needs CONFIG_SECCOMP_FILTER, and x86_64 or aarch64',
  },
  notInBackground: {
    level: 'error',
    fields: FAILED_CALL,
    means: 'The guardian cannot become a background process, and ends',
    act: 'start it in the foreground (`--dont-fork`)',
  },
  plansExecuted: {
    level: 'warn',
    or: 'error',
    fields: [
      ...(['plans', 'silent', 'requests', 'removed', 'absent', 'failed', 'packets', 'sent'] as const),
      ...(['removedMs', 'ms', 'errors'] as const),
    ],
    means:
      'The engine died or missed its deadline; the guardian removed the addresses. Error: some addresses could not be removed',
    act: 'find out why the engine ended (lines before); with `failed` above 0 remove the addresses by hand',
  },
  priorityZeroRepeated: {
    level: 'warn',
    fields: [],
    means: 'An advertisement left after the plan was executed, so the guardian sent priority 0 once more',
  },
  renewalFailed: {
    level: 'warn',
    fields: ['failed', 'errors'],
    means: 'The guardian cannot renew the lifetime of addresses, which the kernel will remove',
    act: 'look at `errors`; the interface may be gone',
  },
  serviceManagerNotNotified: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'systemd receives no message about start or watchdog',
    act: 'check NOTIFY_SOCKET and `NotifyAccess=`',
  },
  signalIgnored: { level: 'warn', fields: [], means: 'The guardian ignored a real-time signal' },
  signalNotForwarded: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'The guardian cannot send a signal to the engine',
    act: 'send the signal to the engine',
  },
  signalsNotBlocked: {
    level: 'error',
    fields: FAILED_CALL,
    means: 'The guardian cannot block signals, and ends',
    act: 'report it as a bug',
  },
  standardInputKept: {
    level: 'warn',
    fields: FAILED_CALL,
    means: 'A guardian in the background keeps its standard input, because it cannot open /dev/null',
  },
})
