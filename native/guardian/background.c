/* SPDX-License-Identifier: Apache-2.0 */
/* See background.h. */
#define _GNU_SOURCE
#include "background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "log.h"

static int report_fd = -1; /* pipe to the waiting parent */
static pid_t guardian; /* process id of the guardian, in the parent process */

void report_start(int status) {
  const unsigned char byte = (unsigned char)status;
  if (report_fd < 0) return;
  ssize_t written;
  do {
    written = write(report_fd, &byte, 1);
  } while (written < 0 && errno == EINTR);
  (void)close(report_fd);
  report_fd = -1;
}

static void forward_to_guardian(int number) {
  const int kept = errno;
  (void)kill(guardian, number);
  errno = kept;
}

/* SIGTERM or SIGINT to the waiting parent ends the engine. */
static void forward_while_waiting(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = forward_to_guardian;
  sigset_t forwarded;
  sigemptyset(&forwarded);
  static const int numbers[] = {SIGTERM, SIGINT};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    (void)sigaction(numbers[i], &action, NULL);
    sigaddset(&forwarded, numbers[i]);
  }
  (void)sigprocmask(SIG_UNBLOCK, &forwarded, NULL);
}

static void wait_for_report(int report) __attribute__((noreturn));
static void wait_for_report(int report) {
  unsigned char status = EXIT_FAILURE;
  ssize_t length;
  forward_while_waiting();
  do {
    length = read(report, &status, 1);
  } while (length < 0 && errno == EINTR);
  _exit(length == 1 ? status : EXIT_FAILURE);
}

static void fail_to_start(const char *syscall_name) {
  log_message(LOG_ERROR, "notInBackground", "cannot go to the background", syscall_name, errno);
  exit(EXIT_FAILURE);
}

void go_to_background(void) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) fail_to_start("pipe2");
  guardian = fork();
  if (guardian < 0) fail_to_start("fork");
  if (guardian > 0) {
    (void)close(report[1]);
    wait_for_report(report[0]);
  }
  (void)close(report[0]);
  report_fd = report[1];
  (void)setsid();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) {
    const char *const text = "cannot replace standard input, continuing with it";
    return log_message(LOG_WARN, "standardInputKept", text, "open", errno);
  }
  (void)dup2(null, STDIN_FILENO);
  (void)close(null);
}
