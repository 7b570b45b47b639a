/*
 * Runs the programs of one health check, or of one virtual router's notifications, one at a time, as one user and with no
 * privilege, or with those that it has (--keep, ADR 0033). Decided here: what is given up before the first run, and that
 * nothing a program started outlives its run: this process is the reaper of whatever a descendant leaves behind
 * (PR_SET_CHILD_SUBREAPER), so that a new session or a double fork is no way out. With --spare that holds only for a run
 * that was to be ended: a program that ended by itself may have started a service, which stays, and so as not to kill it
 * later this process makes room for another launcher.
 * Refuses to know: when a run is due, how long it may take, and what its result comes to. It can run nothing but what its
 * command line names: whoever holds the other end of the channel only says when, and which number is appended.
 *
 *   holdfast-launcher [--user UID:GID] [--spare] [--keep] {--program | --numbered} COUNT PROGRAM [ARGUMENT]... ...
 *
 * COUNT is how many words follow, the program's path among them; the last argument of a --numbered one is the number that
 * was told last. --keep holds for the user that this process is and for root; whoever becomes another one keeps nothing.
 * A program gets this process's environment, /dev/null as input and a session of its own. Channel: descriptor 3, a
 * stream. Orders: a byte of 0x80 + N runs the program N, from 0 on (ignored while one is under way), 'n' and
 * one more byte tell the number, 't' SIGTERM to the program's group, 'k' SIGKILL to all. End of file: everything is
 * killed that belongs to a run under way, then this process ends. Answers, native byte order:
 *   @0 u8 kind: 0 ready, 1 exited, 2 killed by a signal, 3 not started, 4 told to end (answers 't'), 5 no such user for us
 *   @1 u8 bit 0: more output than LIMIT, bit 1: this process takes no more orders
 *   @2 u16 length of the output that follows    @4 i32 exit status, signal or errno
 * 1 to 3 come when nothing is left of the run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define CHANNEL 3
#define KEPT 1024u
#define LIMIT (1u << 20)
#define EXIT_USAGE 64
#define EXIT_NOT_STARTED 127
#define MOST_PROGRAMS 16u
#define RUN 0x80u
#define NUMBER_SIZE 4u

enum flags { EXCEEDED = 1, NO_MORE = 2 };
enum kind { READY, EXITED, KILLED, NOT_STARTED, TOLD_TO_END, REFUSED };

struct answer {
  uint8_t kind;
  uint8_t flags;
  uint16_t length;
  int32_t value;
  char output[KEPT];
};

/* `words` ends with NULL; `number` is where the number goes, NULL: nowhere. */
struct program {
  char **words;
  char *number;
};

static struct program programs[MOST_PROGRAMS];
static unsigned program_count;
static bool spares;
static bool keeps;
static bool spared; /* somebody whom a run has left behind, and who stays */
static bool ended_by_us; /* the run under way was told to end, or killed */
static pid_t leader; /* of the run under way; 0 = none, or it has been reaped */
static bool under_way; /* a run of which something is left */
static bool leaving;
static int status; /* of the leader, once it has ended */
static int output = -1, failure = -1; /* the program's output; the errno of its exec */
static uint32_t written;
static char kept[KEPT];

static void tell(enum kind kind, int value) {
  struct answer answer;
  const uint32_t length = written < KEPT ? written : KEPT;
  memset(&answer, 0, sizeof answer);
  answer.kind = (uint8_t)kind;
  answer.flags = (uint8_t)((written > LIMIT ? EXCEEDED : 0) | (spared ? NO_MORE : 0));
  answer.length = (uint16_t)length;
  answer.value = value;
  memcpy(answer.output, kept, length);
  const char *bytes = (const char *)&answer;
  size_t left = offsetof(struct answer, output) + length;
  while (left > 0) {
    const ssize_t sent = write(CHANNEL, bytes, left);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      leaving = true;
      return;
    }
    bytes += sent;
    left -= (size_t)sent;
  }
}

/* ---- what is given up ---- */

static bool take_user(const char *text, uid_t *uid, gid_t *gid) {
  char *end = NULL;
  const unsigned long user = strtoul(text, &end, 10);
  if (end == text || *end != ':') return false;
  const char *rest = end + 1;
  const unsigned long group = strtoul(rest, &end, 10);
  if (end == rest || *end != '\0' || user >= UINT_MAX || group >= UINT_MAX) return false;
  *uid = (uid_t)user;
  *gid = (gid_t)group;
  return true;
}

/* Who is that user already needs no capability, and keeps the groups that the daemon was given. */
static int become(uid_t uid, gid_t gid) {
  if (getuid() == uid && geteuid() == uid && getgid() == gid && getegid() == gid) return 0;
  return setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0 ? errno : 0;
}

/* Everything, for good. With it goes what would come back by a program that is set-user-ID or has capabilities. */
static int give_up(uid_t uid, gid_t gid) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  /* Both need CAP_SETPCAP; without it no_new_privs keeps a program of uid 0 from having them again. */
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  (void)prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0);
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  const int refused = become(uid, gid);
  if (refused != 0) return refused;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  memset(sets, 0, sizeof sets);
  if (syscall(SYS_capset, &header, sets) != 0) return errno;
  memset(sets, 0xff, sizeof sets);
  if (syscall(SYS_capget, &header, sets) != 0) return errno;
  uint32_t left = 0;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    left |= sets[i].effective | sets[i].permitted | sets[i].inheritable;
  return left != 0 ? EPERM : 0;
}

static int take_rights(const char *user) {
  uid_t uid = getuid();
  gid_t gid = getgid();
  if (user != NULL && !take_user(user, &uid, &gid)) return EINVAL;
  const bool is_own = getuid() == uid && geteuid() == uid;
  if (!keeps || (!is_own && uid != 0)) return give_up(uid, gid);
  /* Root's exec has the whole bounding set: more than a daemon of another user was given. */
  if (!is_own && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return become(uid, gid);
}

/* ---- a run ---- */

/* In the child, up to exec. */
static void become_program(char **words, int out, int failed) {
  sigset_t none;
  (void)sigemptyset(&none);
  (void)signal(SIGPIPE, SIG_DFL);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  /* Should this process be killed, the program goes as well. */
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  int number = 0;
  if (setsid() < 0 || chdir("/") != 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
    number = errno;
  else {
    (void)execv(words[0], words);
    number = errno;
  }
  const ssize_t said = write(failed, &number, sizeof number);
  (void)said;
  _exit(EXIT_NOT_STARTED);
}

static void begin(const struct program *program) {
  int out[2], failed[2];
  written = 0;
  ended_by_us = false;
  if (pipe2(out, O_CLOEXEC) != 0) {
    tell(NOT_STARTED, errno);
    return;
  }
  if (pipe2(failed, O_CLOEXEC | O_NONBLOCK) != 0) {
    const int number = errno;
    (void)close(out[0]);
    (void)close(out[1]);
    tell(NOT_STARTED, number);
    return;
  }
  /* Ours alone: at the program's end a full pipe must make it wait, not fail. */
  (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
  const pid_t pid = fork();
  const int number = errno;
  if (pid == 0) become_program(program->words, out[1], failed[1]);
  (void)close(out[1]);
  (void)close(failed[1]);
  if (pid < 0) {
    (void)close(out[0]);
    (void)close(failed[0]);
    tell(NOT_STARTED, number);
    return;
  }
  output = out[0];
  failure = failed[0];
  leader = pid;
  under_way = true;
}

/* Children of ours that are not the leader: what descendants have left behind. False: the kernel does not say. */
static bool kill_children(void) {
  char text[4096];
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
  const int list = open(path, O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  ssize_t size;
  pid_t pid = 0;
  while ((size = read(list, text, sizeof text)) > 0) {
    for (ssize_t i = 0; i < size; i++) {
      if (text[i] >= '0' && text[i] <= '9')
        pid = pid * 10 + (text[i] - '0');
      else {
        if (pid > 0) (void)kill(pid, SIGKILL);
        pid = 0;
      }
    }
  }
  (void)close(list);
  return true;
}

static bool kill_all(void) {
  ended_by_us = true;
  /* Its number is its own until it is reaped. */
  if (leader > 0) (void)kill(-leader, SIGKILL);
  return !under_way || kill_children();
}

static void take_output(void) {
  char text[16384];
  for (;;) {
    const ssize_t size = read(output, text, sizeof text);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      if (size == 0 || errno != EAGAIN) {
        (void)close(output);
        output = -1;
      }
      return;
    }
    const uint32_t more = (uint32_t)size;
    if (written < KEPT) memcpy(kept + written, text, more < KEPT - written ? more : KEPT - written);
    written = written > LIMIT ? written : written + more;
    if (written > LIMIT) {
      /* Otherwise a babbler would keep us here. */
      (void)kill_all();
      return;
    }
  }
}

static void finish(void) {
  int number = 0;
  const bool started = read(failure, &number, sizeof number) != (ssize_t)sizeof number;
  (void)close(failure);
  failure = -1;
  if (output >= 0) take_output();
  /* Who writes to a pipe that nobody reads is killed by that. */
  if (output >= 0 && !spared) {
    (void)close(output);
    output = -1;
  }
  under_way = false;
  if (!started)
    tell(NOT_STARTED, number);
  else if (WIFSIGNALED(status))
    tell(KILLED, WTERMSIG(status));
  else
    tell(EXITED, WEXITSTATUS(status));
}

static void reap(void) {
  for (;;) {
    siginfo_t child;
    child.si_pid = 0;
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      break; /* ECHILD: nobody is left */
    }
    if (child.si_pid == 0) {
      /* Somebody is left. Whose parent has just died is our child by now. */
      if (!under_way || leader > 0) return;
      if (spares && !ended_by_us) {
        spared = true;
        break;
      }
      if (kill_children()) return;
      break;
    }
    const bool is_leader = child.si_pid == leader;
    /* Before it is reaped: while it has a number nobody else's group has it. */
    if (is_leader && (!spares || ended_by_us)) (void)kill_all();
    int ended = 0;
    if (waitpid(child.si_pid, &ended, WNOHANG) == child.si_pid && is_leader) {
      status = ended;
      leader = 0;
    }
  }
  if (under_way && leader == 0) finish();
}

/* For those who stay: somebody reads what they write, as long as they may. The channel is free for the next launcher. */
static void see_off(void) {
  char text[16384];
  (void)close(CHANNEL);
  (void)signal(SIGCHLD, SIG_IGN);
  while (output >= 0) {
    struct pollfd watched = {output, POLLIN, 0};
    if (poll(&watched, 1, -1) < 0 && errno != EINTR) return;
    ssize_t size;
    while ((size = read(output, text, sizeof text)) > 0) continue;
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) return;
  }
}

/* ---- orders ---- */

static void take_number(unsigned char number) {
  for (unsigned i = 0; i < program_count; i++)
    if (programs[i].number != NULL) (void)snprintf(programs[i].number, NUMBER_SIZE, "%u", number);
}

static void obey(unsigned char order) {
  static bool number_follows;
  if (number_follows) {
    number_follows = false;
    take_number(order);
    return;
  }
  if (order >= RUN) {
    if (!under_way && order - RUN < program_count) begin(&programs[order - RUN]);
    return;
  }
  switch (order) {
    case 'n':
      number_follows = true;
      break;
    case 't':
      ended_by_us = true;
      if (leader > 0) (void)kill(-leader, SIGTERM);
      if (output >= 0) take_output();
      tell(TOLD_TO_END, 0);
      break;
    case 'k':
      (void)kill_all();
      break;
    default: /* of a version to come */
      break;
  }
}

static void take_orders(void) {
  unsigned char orders[16];
  const ssize_t size = read(CHANNEL, orders, sizeof orders);
  if (size < 0 && errno == EINTR) return;
  if (size <= 0) leaving = true;
  for (ssize_t i = 0; i < size && !leaving; i++) obey(orders[i]);
}

/* ---- the command line ---- */

static bool add_program(char **words, unsigned long count, bool numbered) {
  if (program_count == MOST_PROGRAMS) return false;
  struct program *program = &programs[program_count++];
  program->words = calloc(count + 2, sizeof *program->words);
  if (program->words == NULL) return false;
  memcpy(program->words, words, count * sizeof *words);
  if (!numbered) return true;
  program->number = calloc(1, NUMBER_SIZE);
  if (program->number == NULL) return false;
  program->words[count] = program->number;
  take_number(0);
  return true;
}

static bool take_programs(int count, char **arguments, int at) {
  while (at + 1 < count) {
    const bool numbered = strcmp(arguments[at], "--numbered") == 0;
    if (!numbered && strcmp(arguments[at], "--program") != 0) return false;
    char *end = NULL;
    const unsigned long words = strtoul(arguments[at + 1], &end, 10);
    at += 2;
    if (*end != '\0' || words == 0 || words > (unsigned long)(count - at)) return false;
    if (!add_program(arguments + at, words, numbered)) return false;
    at += (int)words;
  }
  return at == count && program_count > 0;
}

int main(int count, char **arguments) {
  const char *user = NULL;
  int at = 1;
  if (at + 1 < count && strcmp(arguments[at], "--user") == 0) {
    user = arguments[at + 1];
    at += 2;
  }
  if (at < count && strcmp(arguments[at], "--spare") == 0) {
    spares = true;
    at++;
  }
  if (at < count && strcmp(arguments[at], "--keep") == 0) {
    keeps = true;
    at++;
  }
  if (!take_programs(count, arguments, at) || fcntl(CHANNEL, F_SETFD, FD_CLOEXEC) != 0) {
    (void)fprintf(stderr, "usage: holdfast-launcher [--user UID:GID] [--spare] [--keep] {--program | --numbered} COUNT "
                          "PROGRAM [ARGUMENT]... ..., a channel as descriptor 3\n");
    return EXIT_USAGE;
  }
  (void)syscall(SYS_close_range, CHANNEL + 1, ~0u, 0);
  (void)signal(SIGPIPE, SIG_IGN);

  const int refused = take_rights(user);
  if (refused != 0) {
    tell(REFUSED, refused);
    return 1;
  }
  /* The program may run as the same user: it shall not look into us. */
  (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  sigset_t mask;
  (void)sigemptyset(&mask);
  (void)sigaddset(&mask, SIGCHLD);
  (void)sigaddset(&mask, SIGTERM);
  /* Sent to every process of the service they are meant for the engine: what runs here must not be orphaned by them. */
  (void)sigaddset(&mask, SIGHUP);
  (void)sigaddset(&mask, SIGINT);
  (void)sigaddset(&mask, SIGUSR1);
  (void)sigaddset(&mask, SIGUSR2);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || sigprocmask(SIG_BLOCK, &mask, NULL) != 0) {
    tell(REFUSED, errno);
    return 1;
  }
  const int signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) {
    tell(REFUSED, errno);
    return 1;
  }
  tell(READY, 0);

  while (!leaving || under_way) {
    struct pollfd watched[3] = {{signals, POLLIN, 0}, {output, POLLIN, 0}, {leaving ? -1 : CHANNEL, POLLIN, 0}};
    /* While leaving: again and again, because a fork may have been faster than a look. */
    if (poll(watched, 3, leaving ? 10 : -1) < 0 && errno != EINTR) break;
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
      if (info.ssi_signo == SIGTERM) leaving = true;
    if (watched[1].revents != 0 && output >= 0) take_output();
    reap();
    if (spared) {
      see_off();
      return 0;
    }
    if (watched[2].revents != 0) take_orders();
    if (leaving) (void)kill_all();
  }
  return 0;
}
