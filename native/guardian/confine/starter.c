/* SPDX-License-Identifier: Apache-2.0 */
/* See starter.h. */
#define _GNU_SOURCE
#include "starter.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../clock/sockets.h"
#include "../log.h"
#include "../process.h"
#include "../restart.h"
#include "../upgrade.h"
#include "../words.h"

#define NAME "holdfast-start"
#define PASSED 3u /* descriptors of a request at most */
#define DESCRIPTORS 1024
/*
 * While the guardian waits for the starter, the guardian does nothing else. An engine whose guardian is silent for 1 s
 * leaves, and that second includes half a period of the renewals.
 */
#define ANSWER_MS 300

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static pid_t starter, guardian;
static int requests_fd = -1; /* the guardian's end */

/* ---- the starter itself ---- */

/* The list of processes must not name a second guardian, nor a second engine. Copies the program's arguments first. */
static bool rename_process(struct options *options, char **arguments) {
  size_t count = 0;
  while (options->program[count] != NULL) count++;
  char **const copies = calloc(count + 1, sizeof *copies);
  if (copies == NULL) return false;
  for (size_t i = 0; i < count; i++)
    if ((copies[i] = strdup(options->program[i])) == NULL) return false;
  char *const begin = arguments[0], *const last = options->program[count - 1];
  const size_t room = (size_t)(last - begin) + strlen(last);
  memset(begin, 0, room);
  memcpy(begin, NAME, room < sizeof NAME ? room : sizeof NAME - 1);
  options->program = copies;
  (void)prctl(PR_SET_NAME, NAME);
  return true;
}

/* Another copy of a raw socket would take the packets of the guardian's place, and hide the guardian's death. */
static void close_others(int requests) {
  const int kept[] = {requests, words_fd, ask_fd, cover_fd, log_descriptor()};
  int end = DESCRIPTORS;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (kept[i] >= end) end = kept[i] + 1;
  /* Linux before 5.9 does not have this call. */
  (void)syscall(SYS_close_range, (unsigned)end, ~0u, 0u);
  for (int fd = STDERR_FILENO + 1; fd < end; fd++) {
    bool needed = false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) needed = needed || kept[i] == fd;
    if (!needed) (void)close(fd);
  }
}

union passed {
  struct cmsghdr align;
  unsigned char bytes[CMSG_SPACE(PASSED * sizeof(int))];
};

/* A request has the descriptors of snapshot, channel and report, or those of snapshot and output. */
enum request { ENGINE = 'e', REHEARSAL = 'r' };

/* Reads a request. Returns the number of its descriptors; 0 at the end of the guardian. */
static size_t read_request(int requests, char *kind, int *fds) {
  union passed control;
  struct iovec vector = {kind, 1};
  struct msghdr header = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t length;
  do {
    length = recvmsg(requests, &header, MSG_CMSG_CLOEXEC);
  } while (length < 0 && errno == EINTR);
  const struct cmsghdr *const message = length > 0 ? CMSG_FIRSTHDR(&header) : NULL;
  if (message == NULL) return 0;
  const size_t count = (message->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  memcpy(fds, CMSG_DATA(message), count * sizeof(int));
  return count;
}

/* With CLONE_PARENT the new process is a child of the guardian, as the first engine is. */
static void serve(const struct options *options, const sigset_t *mask, int requests) __attribute__((noreturn));
static void serve(const struct options *options, const sigset_t *mask, int requests) {
  int fds[PASSED];
  char kind;
  for (size_t count; (count = read_request(requests, &kind, fds)) != 0;) {
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
      snapshot_fd = fds[0];
      if (kind == REHEARSAL) run_rehearsal(options, mask, fds[1], guardian);
      /* The request of a guardian that has died meanwhile. */
      if (getppid() != guardian) _exit(EXIT_FAILURE);
      run_engine(options, mask, fds[1], fds[2]);
    }
    if (pid < 0) pid = -errno;
    for (size_t i = 0; i < count; i++) (void)close(fds[i]);
    (void)send(requests, &pid, sizeof pid, MSG_NOSIGNAL);
  }
  _exit(EXIT_SUCCESS);
}

/* ---- the guardian's side ---- */

static void close_requests(void) {
  if (requests_fd >= 0) (void)close(requests_fd);
  requests_fd = -1;
}

static void log_no_starter(const char *syscall_name, int number) {
  log_message(LOG_WARN, "noStarter", "no process that starts the engine again: a crash releases the addresses",
              syscall_name, number);
}

void open_starter(const struct options *options, const sigset_t *mask, char **arguments) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return log_no_starter("socketpair", errno);
  guardian = getpid();
  starter = fork();
  if (starter == 0) {
    struct options own = *options;
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    if (!rename_process(&own, arguments)) _exit(EXIT_FAILURE);
    close_others(pair[1]);
    serve(&own, mask, pair[1]);
  }
  const int number = errno;
  (void)close(pair[1]);
  requests_fd = pair[0];
  if (starter > 0) return;
  close_requests();
  log_no_starter("fork", number);
}

bool has_starter(void) {
  return requests_fd >= 0;
}

void note_end(pid_t pid) {
  if (pid != starter || requests_fd < 0) return;
  close_requests();
  log_no_starter("waitpid", ECHILD);
}

/* Returns the process id, or -1 with errno. */
static pid_t request(char kind, const int *fds, size_t count) {
  const size_t size = count * sizeof(int);
  union passed control;
  struct iovec vector = {&kind, 1};
  errno = ECHILD;
  if (requests_fd < 0) return -1;
  struct msghdr header = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
  memset(&control, 0, sizeof control);
  control.align = (struct cmsghdr){.cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.align), fds, size);
  struct pollfd answer = {requests_fd, POLLIN, 0};
  pid_t pid = -1;
  int fault = 0;
  if (sendmsg(requests_fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    fault = errno;
  else if (poll(&answer, 1, ANSWER_MS) != 1)
    fault = ETIMEDOUT;
  else if (recv(requests_fd, &pid, sizeof pid, MSG_DONTWAIT) != (ssize_t)sizeof pid)
    fault = ECHILD;
  if (fault == 0 && pid > 0) return pid;
  if (fault != 0) {
    /* A late answer would be another engine. */
    (void)kill(starter, SIGKILL);
    close_requests();
    log_no_starter("sendmsg", fault);
  }
  errno = fault != 0 ? fault : -pid;
  return -1;
}

pid_t start_by_starter(int channel, int report, int snapshot) {
  const int fds[] = {snapshot, channel, report};
  return request(ENGINE, fds, sizeof fds / sizeof *fds);
}

pid_t rehearse_by_starter(int output, int snapshot) {
  const int fds[] = {snapshot, output};
  return request(REHEARSAL, fds, sizeof fds / sizeof *fds);
}
