/* SPDX-License-Identifier: Apache-2.0 */
/* See upgrade.h. */
#define _GNU_SOURCE
#include "upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "confine/starter.h"
#include "log.h"
#include "message.h"
#include "now.h"
#include "process.h"
#include "restart.h"
#include "words.h"

#define LONGEST (15 * NS_PER_S) /* of a rehearsal; a busy node with a slow disk needs seconds to start a program */
#define OUTPUT_MAX (1u << 20) /* octets; the output is in memory */
#define NOT_TRIED 75 /* exit status that says nothing about the program: the running engine goes on */

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#endif

/* Message of a rehearsal that was not started yet; NULL = none. */
static unsigned char *requested;
static size_t requested_size;

static pid_t rehearsal; /* 0 = none runs */
static uint64_t ends_at;
static bool was_late;
static int output_fd = -1;

static void close_output(void) {
  if (output_fd >= 0) (void)close(output_fd);
  output_fd = -1;
}

static const char *keep_request(const unsigned char *bytes, size_t size) {
  const char *const fault = check_snapshot(bytes, size);
  if (fault != NULL) return fault;
  if (rehearsal != 0 || requested != NULL) return "a dry run runs already";
  requested = malloc(size);
  if (requested == NULL) return "no memory to keep it";
  memcpy(requested, bytes, size);
  requested_size = size;
  return NULL;
}

const char *request_rehearsal(const struct engine *engine, const unsigned char *bytes, size_t size) {
  const char *const fault = keep_request(bytes, size);
  if (fault != NULL) answer_engine(engine, ANSWER_REHEARSED, NOT_TRIED, fault, strlen(fault));
  return fault;
}

void forget_rehearsal(void) {
  free(requested);
  requested = NULL;
  if (rehearsal == 0) return;
  (void)kill(rehearsal, SIGKILL);
  rehearsal = 0;
  close_output();
}

/*
 * A new program may have any defect. The output of a new program must not fill the memory that the running engine
 * needs.
 */
static void limit_rehearsal(const struct options *options) {
  const struct rlimit output = {OUTPUT_MAX, OUTPUT_MAX};
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0 && write(fd, "1000", 4) == 4) (void)close(fd);
  (void)setrlimit(RLIMIT_FSIZE, &output);
  if (!options->core) forbid_core_dump();
}

/* A descriptor of the guardian's channel is not passed on: the rehearsal is no engine. */
void run_rehearsal(const struct options *options, const sigset_t *mask, int output, pid_t guardian) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guardian) _exit(NOT_TRIED);
  limit_rehearsal(options);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool is_set_up = nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
                         dup2(output, STDERR_FILENO) >= 0 && setenv(REHEARSAL_VARIABLE, REVISION, 1) == 0 &&
                         pass_descriptor(snapshot_fd, SNAPSHOT_VARIABLE) &&
                         (words_fd < 0 || pass_descriptor(words_fd, WORDS_VARIABLE));
  (void)signal(SIGPIPE, SIG_DFL);
  if (!is_set_up || sigprocmask(SIG_SETMASK, mask, NULL) != 0) {
    (void)dprintf(STDERR_FILENO, "the guardian cannot prepare the dry run: %s\n", strerror(errno));
    _exit(NOT_TRIED);
  }
  (void)execvp(options->program[0], options->program);
  (void)dprintf(STDERR_FILENO, "cannot execute %s: %s\n", options->program[0], strerror(errno));
  _exit(EXIT_NOT_STARTED);
}

static void begin_rehearsal(void) {
  output_fd = (int)syscall(SYS_memfd_create, "holdfast-rehearsal", MFD_CLOEXEC);
  if (output_fd < 0 || !open_snapshot(requested, requested_size, now_ns(), 0, true)) return;
  const pid_t pid = rehearse_by_starter(output_fd, snapshot_fd);
  if (pid < 0) return;
  rehearsal = pid;
  was_late = false;
  ends_at = now_ns() + LONGEST;
}

void follow_rehearsal(const struct engine *engine) {
  if (rehearsal != 0 && !was_late && now_ns() >= ends_at) {
    was_late = true;
    (void)kill(rehearsal, SIGKILL);
  }
  if (requested == NULL) return;
  static const char refusal[] = "the guardian cannot start the program";
  begin_rehearsal();
  close_snapshot();
  free(requested);
  requested = NULL;
  if (rehearsal != 0) return;
  close_output();
  answer_engine(engine, ANSWER_REHEARSED, NOT_TRIED, refusal, sizeof refusal - 1);
}

void end_rehearsal(const struct engine *engine, pid_t pid, int status) {
  if (rehearsal == 0 || pid != rehearsal) return;
  char text[ANSWER_MAX];
  size_t length = 0;
  if (was_late) length = (size_t)snprintf(text, sizeof text, "the program has not ended its dry run within 15 s\n");
  const ssize_t size = pread(output_fd, text + length, sizeof text - length, 0);
  if (size > 0) length += (size_t)size;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  rehearsal = 0;
  close_output();
  answer_engine(engine, ANSWER_REHEARSED, (uint8_t)code, text, length);
}

uint64_t rehearsal_ends_at(void) {
  return rehearsal == 0 || was_late ? UINT64_MAX : ends_at;
}

/* An order that comes late belongs to an engine that has long given up, and has perhaps obeyed other orders since. */
static const char *find_fault(const unsigned char *bytes, size_t size) {
  const uint32_t left = u32_at(bytes + 8) - (uint32_t)(now_ns() / NS_PER_MS);
  return left != 0 && left <= INT32_MAX ? store_snapshot(bytes, size) : "the guardian has read the order too late";
}

const char *hand_over(struct engine *engine, const unsigned char *bytes, size_t size) {
  const char *const fault = find_fault(bytes, size);
  const char *const obstacle = fault != NULL ? fault : begin_replacement(engine);
  if (obstacle != NULL) answer_engine(engine, ANSWER_KEPT, 0, obstacle, strlen(obstacle));
  return fault;
}
