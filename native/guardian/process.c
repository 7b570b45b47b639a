/* SPDX-License-Identifier: Apache-2.0 */
/* See process.h. */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absence.h"
#include "clock/sockets.h"
#include "clock/thread.h"
#include "confine/starter.h"
#include "log.h"
#include "message.h"
#include "netlink.h"
#include "restart.h"
#include "upgrade.h"
#include "words.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif

#define NAME_SIZE 16 /* octets of a process name, with its NUL (prctl(2)) */

bool fill_standard_descriptors(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) return false;
  return true;
}

/*
 * Passes capabilities on to the engine as ambient ones. A user other than root has them by the guardian's file alone
 * (setcap …+p): they are in the permitted set, and would end with exec. Ambient ones leave the engine's environment
 * trusted, while a Node with capabilities by its own file ignores NODE_OPTIONS. The engine itself names a capability
 * that is missing.
 */
void use_file_capabilities(void) {
  if (geteuid() == 0) return;
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) != 0)
    return log_message(LOG_WARN, "capabilitiesNotRaised", "cannot read its capabilities", "capget", errno);
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    sets[i].effective = sets[i].inheritable = sets[i].permitted;
  if (syscall(SYS_capset, &header, sets) != 0)
    return log_message(LOG_WARN, "capabilitiesNotRaised", "cannot use its capabilities", "capset", errno);
  for (unsigned long number = 0; number < 64; number++) {
    if ((sets[number / 32].permitted & (1u << number % 32)) == 0) continue;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0) != 0)
      return log_message(LOG_WARN, "capabilitiesNotRaised", "cannot pass its capabilities on to the engine", "prctl",
                         errno);
  }
  /*
   * Capabilities by file make a process opaque, but the engine must read the guardian's descriptors to know whose raw
   * sockets they are.
   */
  (void)prctl(PR_SET_DUMPABLE, 1);
}

void set_process_name(const char *name, char *first_argument) {
  char own[NAME_SIZE];
  (void)snprintf(own, sizeof own, "%s", name);
  (void)prctl(PR_SET_NAME, own);
  const size_t room = strlen(first_argument);
  if (strlen(own) > room) return;
  memset(first_argument, 0, room);
  memcpy(first_argument, own, strlen(own));
}

/* Uses the plain system call, because musl's function refuses. */
void set_realtime(int priority, const char *complaint) {
  const struct sched_param parameter = {.sched_priority = priority};
  if (syscall(SYS_sched_setscheduler, 0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) != 0)
    log_message(LOG_WARN, "noRealtime", complaint, "sched_setscheduler", errno);
}

bool pass_descriptor(int fd, const char *variable) {
  char number[16];
  const int flags = fcntl(fd, F_GETFD);
  if (flags < 0 || fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) != 0) return false;
  (void)snprintf(number, sizeof number, "%d", fd);
  return setenv(variable, number, 1) == 0;
}

/*
 * Sets a core limit of one byte, because PR_SET_DUMPABLE would not survive exec. With this limit the kernel writes no
 * file and starts no core_pattern pipe either. A limit of zero would not stop the pipe.
 */
void forbid_core_dump(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max < 1 ? limit.rlim_max : 1;
  if (setrlimit(RLIMIT_CORE, &limit) != 0)
    log_message(LOG_WARN, "coreDumpsNotLimited", "cannot limit core dumps", "setrlimit", errno);
}

/* Runs in the child, up to exec. Returns the name of what failed; errno says why. */
static const char *become_engine(const struct options *options, const sigset_t *mask, int channel) {
  if (!pass_descriptor(channel, CHANNEL_VARIABLE)) return "setup";
  if (words_fd >= 0 && !pass_descriptor(words_fd, WORDS_VARIABLE)) return "setup";
  if (clock_runs && !pass_clock_descriptors()) return "setup";
  if (snapshot_fd >= 0 && !pass_descriptor(snapshot_fd, SNAPSHOT_VARIABLE)) return "setup";
  if (!options->core) forbid_core_dump();
  if (options->realtime > 0)
    set_realtime(options->realtime, "no real-time priority for the engine, continuing without it");
  (void)signal(SIGPIPE, SIG_DFL);
  if (sigprocmask(SIG_SETMASK, mask, NULL) != 0) return "setup";
  (void)execvp(options->program[0], options->program);
  return "execve";
}

/* Logs why the engine did not start. Returns false. */
static bool log_not_started(const struct options *options, const char *syscall_name, int number) {
  struct line line;
  begin_line(&line, LOG_ERROR, "engineNotStarted", "cannot start the engine");
  append_string(&line, "program", options->program[0]);
  append_string(&line, "syscall", syscall_name);
  append_string(&line, "code", errno_name(number));
  end_line(&line);
  return false;
}

/* Report of a child that cannot become the engine. */
struct failure {
  int number;
  bool executing;
};

void run_engine(const struct options *options, const sigset_t *mask, int channel, int report) {
  const char *const failed = become_engine(options, mask, channel);
  const int number = errno;
  struct failure failure;
  memset(&failure, 0, sizeof failure);
  failure.number = number;
  failure.executing = strcmp(failed, "execve") == 0;
  ssize_t written;
  do {
    written = write(report, &failure, sizeof failure);
  } while (written < 0 && errno == EINTR);
  _exit(EXIT_NOT_STARTED);
}

/* Returns true once the child executes the engine: then the pipe closes, and there is nothing to read. */
static bool await_exec(const struct options *options, int report) {
  struct failure failure;
  ssize_t length;
  do {
    length = read(report, &failure, sizeof failure);
  } while (length < 0 && errno == EINTR);
  (void)close(report);
  if (length != (ssize_t)sizeof failure) return true;
  return log_not_started(options, failure.executing ? "execve" : "setup", failure.number);
}

void read_report(const struct options *options, struct engine *engine) {
  (void)await_exec(options, engine->report);
  engine->report = -1;
}

static void close_report(struct engine *engine) {
  if (engine->report >= 0) (void)close(engine->report);
  engine->report = -1;
}

bool start_engine(const struct options *options, const sigset_t *mask, struct engine *engine) {
  int channel[2], report[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) != 0)
    return log_not_started(options, "socketpair", errno);
  set_option(channel[0], SOL_SOCKET, SO_PASSCRED, 1);
  set_option(channel[1], SOL_SOCKET, SO_SNDBUF, CHANNEL_BUFFER);
  set_option(channel[1], SOL_SOCKET, SO_SNDBUFFORCE, CHANNEL_BUFFER);
  if (pipe2(report, O_CLOEXEC) != 0) return log_not_started(options, "pipe2", errno);
  /* A process that this guardian forked later would have the guardian's seccomp filter. */
  const bool again = snapshot_fd >= 0;
  const pid_t pid = again ? start_by_starter(channel[1], report[1], snapshot_fd) : fork();
  const int number = errno;
  if (pid == 0) run_engine(options, mask, channel[1], report[1]);
  (void)close(channel[1]);
  (void)close(report[1]);
  close_report(engine);
  if (pid < 0) {
    /* An engine of which the guardian does not know finds its channel closed. */
    (void)close(channel[0]);
    (void)close(report[0]);
    return log_not_started(options, again ? "clone" : "fork", number);
  }
  /* The exec of a next engine may wait for a disk, while the executor has addresses to renew. */
  if (again) {
    engine->report = report[0];
  } else if (!await_exec(options, report[0])) {
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    return false;
  }
  engine->pid = pid;
  engine->channel = channel[0];
  if (engine->pidfd >= 0) (void)close(engine->pidfd);
  engine->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (engine->pidfd >= 0) (void)fcntl(engine->pidfd, F_SETFD, FD_CLOEXEC);
  return true;
}

void reap_children(struct engine *engine) {
  for (;;) {
    siginfo_t child;
    memset(&child, 0, sizeof child);
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (child.si_pid == 0) return;
    int status = 0;
    note_end(child.si_pid);
    if (child.si_pid == engine->pid) handle_engine_gone(engine);
    if (waitpid(child.si_pid, &status, WNOHANG) != child.si_pid) continue;
    end_rehearsal(engine, child.si_pid, status);
    if (child.si_pid != engine->pid) continue;
    engine->pid = 0;
    engine->status = status;
  }
}

/* Returns NULL for a signal that does not end an engine. (sigabbrev_np() needs glibc 2.32.) */
static const char *signal_name(int number) {
  static const struct {
    int number;
    const char *name;
  } known[] = {{SIGKILL, "KILL"}, {SIGSEGV, "SEGV"}, {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},   {SIGILL, "ILL"},
               {SIGFPE, "FPE"},   {SIGTERM, "TERM"}, {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGSYS, "SYS"},
               {SIGTRAP, "TRAP"}, {SIGHUP, "HUP"},   {SIGPIPE, "PIPE"}, {SIGXCPU, "XCPU"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].number == number) return known[i].name;
  return NULL;
}

/* Returns the exit status. An engine that exits has logged the reason itself, so only a signal needs a line here. */
int exit_status(const struct engine *engine) {
  /* SIGTERM came after the engine's order to replace it, and before its death. */
  if (engine->replaced && engine->stopping) return EXIT_SUCCESS;
  if (WIFEXITED(engine->status)) return WEXITSTATUS(engine->status);
  const int number = WTERMSIG(engine->status);
  struct line line;
  char text[64];
  const char *name = signal_name(number);
  if (name == NULL)
    (void)snprintf(text, sizeof text, "engine killed by signal %d", number);
  else
    (void)snprintf(text, sizeof text, "engine killed by signal %d (SIG%s)", number, name);
  begin_line(&line, LOG_ERROR, "engineKilled", text);
  append(&line, ",\"signal\":%d,\"core\":%s", number, WCOREDUMP(engine->status) ? "true" : "false");
  end_line(&line);
  return 128 + number;
}
