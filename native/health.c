/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast-healthcheck: the program that a container's probe runs. The program asks the engine over the control socket
 * whether the engine turns (live) or takes part in every election (ready). The health check is a separate C program: a
 * Node process every ten seconds would cost a pod more CPU time than the daemon does. A Node process would also need
 * more memory than the pod's limit leaves. This program decides how long an answer may take. Every status except 200
 * means no. The program does not know the meaning of live and ready. The engine decides that, and its text is printed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SOCKET "/run/holdfast/holdfast.sock"
#define PATIENCE_MS 2000 /* less than the 3 s after which the image's probe is killed without a reason */
#define ANSWER_SIZE 16384
#define EXIT_USAGE 64

static int fail(const char *socket_path, const char *what) {
  (void)fprintf(stderr, "holdfast-healthcheck: no answer at %s: %s\n", socket_path, what);
  return EXIT_FAILURE;
}

static long now_ms(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns NULL, or the reason for no answer. The peer closes the connection after its answer. */
static const char *ask_engine(const struct sockaddr_un *to, const char *request, char *answer) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return strerror(errno);
  /* A unix socket connects immediately or fails (EAGAIN: the engine's queue of connections is full). */
  if (connect(fd, (const struct sockaddr *)to, sizeof *to) != 0) return strerror(errno);
  if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request)) return strerror(errno);
  size_t length = 0;
  for (const long until = now_ms() + PATIENCE_MS;;) {
    struct pollfd in = {.fd = fd, .events = POLLIN, .revents = 0};
    const long left = until - now_ms();
    const int ready = left > 0 ? poll(&in, 1, (int)left) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return ready == 0 ? "it took longer than 2 s" : strerror(errno);
    const ssize_t got = recv(fd, answer + length, ANSWER_SIZE - 1 - length, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return strerror(errno);
    length += (size_t)got;
    answer[length] = '\0';
    if (got == 0 || length == ANSWER_SIZE - 1) return length == 0 ? "it closed the connection" : NULL;
  }
}

int main(int count, char **arguments) {
  const bool ready = count > 1 && strcmp(arguments[1], "ready") == 0;
  if (count > 3 || (count > 1 && !ready && strcmp(arguments[1], "live") != 0)) {
    (void)fputs("usage: holdfast-healthcheck [live | ready] [SOCKET]\n"
                "  live   the engine answers within 2 s (the default)\n"
                "  ready  every virtual router takes part in its election as well\n"
                "SOCKET: " SOCKET " by default. Exit status: 0 yes, 1 no, 64 usage.\n", stderr);
    return EXIT_USAGE;
  }
  const char *const path = count > 2 ? arguments[2] : SOCKET;
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof to.sun_path) return fail(path, "the path is too long");
  memcpy(to.sun_path, path, strlen(path));
  static char answer[ANSWER_SIZE];
  const char *const fault = ask_engine(&to,
                                       ready ? "GET /readyz HTTP/1.1\r\nHost: holdfast\r\nConnection: close\r\n\r\n"
                                             : "GET /healthz HTTP/1.1\r\nHost: holdfast\r\nConnection: close\r\n\r\n",
                                       answer);
  if (fault != NULL) return fail(path, fault);
  const char *const body = strstr(answer, "\r\n\r\n");
  if (strncmp(answer, "HTTP/1.1 ", 9) != 0 || body == NULL) return fail(path, "what answers there is not holdfast");
  (void)puts(body + 4);
  return strncmp(answer + 9, "200 ", 4) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
