/* SPDX-License-Identifier: Apache-2.0 */
/* See run.h. */
#define _GNU_SOURCE
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"

#define EXIT_NOT_STARTED 127

struct run run = {.output = -1, .failure = -1};

/* ---- start ---- */

/* Runs in the child, up to exec. */
static void become_program(char **words, int out, int failed) __attribute__((noreturn));
static void become_program(char **words, int out, int failed) {
  sigset_t none;
  (void)sigemptyset(&none);
  (void)signal(SIGPIPE, SIG_DFL);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  /* If the launcher is killed, the program ends as well. */
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

/* Opens both pipes. Returns 0 or errno. */
static int open_pipes(int out[2], int failed[2]) {
  if (pipe2(out, O_CLOEXEC) != 0) return errno;
  if (pipe2(failed, O_CLOEXEC | O_NONBLOCK) == 0) {
    /* Only the launcher's end is non-blocking: a full pipe must make the program wait, not fail. */
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    return 0;
  }
  const int number = errno;
  (void)close(out[0]);
  (void)close(out[1]);
  return number;
}

void start_run(const struct program *program) {
  int out[2], failed[2];
  run.written = 0;
  run.was_ordered_to_end = false;
  const int refused = open_pipes(out, failed);
  if (refused != 0) return send_answer(NOT_STARTED, refused);
  const pid_t pid = fork();
  const int number = errno;
  if (pid == 0) become_program(program->words, out[1], failed[1]);
  (void)close(out[1]);
  (void)close(failed[1]);
  if (pid < 0) {
    (void)close(out[0]);
    (void)close(failed[0]);
    return send_answer(NOT_STARTED, number);
  }
  run.output = out[0];
  run.failure = failed[0];
  run.leader = pid;
  run.is_under_way = true;
}

/* ---- end ---- */

/* Kills what descendants have left behind: children of the launcher other than the leader. */
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

bool kill_run(void) {
  run.was_ordered_to_end = true;
  /* Until the leader is reaped, no other process can get its number. */
  if (run.leader > 0) (void)kill(-run.leader, SIGKILL);
  return !run.is_under_way || kill_children();
}

void terminate_run(void) {
  run.was_ordered_to_end = true;
  if (run.leader > 0) (void)kill(-run.leader, SIGTERM);
  if (run.output >= 0) read_output();
}

static void close_output(void) {
  (void)close(run.output);
  run.output = -1;
}

void read_output(void) {
  char text[16384];
  for (;;) {
    const ssize_t size = read(run.output, text, sizeof text);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      if (size == 0 || errno != EAGAIN) close_output();
      return;
    }
    const uint32_t more = (uint32_t)size;
    const uint32_t room = run.written < OUTPUT_KEPT ? OUTPUT_KEPT - run.written : 0;
    if (room > 0) memcpy(run.kept + run.written, text, more < room ? more : room);
    run.written = run.written > OUTPUT_LIMIT ? run.written : run.written + more;
    if (run.written > OUTPUT_LIMIT) {
      /* Without this limit, a program that writes without pause would keep the launcher here. */
      (void)kill_run();
      return;
    }
  }
}

static void finish_run(void) {
  int number = 0;
  const bool started = read(run.failure, &number, sizeof number) != (ssize_t)sizeof number;
  (void)close(run.failure);
  run.failure = -1;
  if (run.output >= 0) read_output();
  /* Writing to a pipe without a reader kills a process, so the pipe of survivors stays open. */
  if (run.output >= 0 && !run.has_survivor) close_output();
  run.is_under_way = false;
  if (!started)
    send_answer(NOT_STARTED, number);
  else if (WIFSIGNALED(run.status))
    send_answer(KILLED, WTERMSIG(run.status));
  else
    send_answer(EXITED, WEXITSTATUS(run.status));
}

/*
 * Processes are left, but none has ended. Orphans have been re-parented to the launcher. Returns true if the run goes
 * on.
 */
static bool handle_rest(void) {
  if (!run.is_under_way || run.leader > 0) return true;
  if (run.spares_survivors && !run.was_ordered_to_end) {
    run.has_survivor = true;
    return false;
  }
  return kill_children();
}

static void reap_child(pid_t pid) {
  const bool is_leader = pid == run.leader;
  /* Kill before the leader is reaped: afterwards another process group may have its number. */
  if (is_leader && (!run.spares_survivors || run.was_ordered_to_end)) (void)kill_run();
  int ended = 0;
  if (waitpid(pid, &ended, WNOHANG) == pid && is_leader) {
    run.status = ended;
    run.leader = 0;
  }
}

void reap_run(void) {
  for (;;) {
    siginfo_t child;
    child.si_pid = 0;
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      break; /* ECHILD: no process is left */
    }
    if (child.si_pid == 0) {
      if (handle_rest()) return;
      break;
    }
    reap_child(child.si_pid);
  }
  if (run.is_under_way && run.leader == 0) finish_run();
}

void read_for_survivors(void) {
  char text[16384];
  (void)close(CHANNEL);
  (void)signal(SIGCHLD, SIG_IGN);
  while (run.output >= 0) {
    struct pollfd watched = {run.output, POLLIN, 0};
    if (poll(&watched, 1, -1) < 0 && errno != EINTR) return;
    ssize_t size;
    while ((size = read(run.output, text, sizeof text)) > 0) continue;
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) return;
  }
}
