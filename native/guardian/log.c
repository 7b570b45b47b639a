/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the lines of log.h. */
#define _GNU_SOURCE
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "now.h"
#include "log-text.h"

#define LINE_ROOM (sizeof((struct line *)NULL)->bytes - 8) /* the end of the object always fits */

static int log_fd = STDERR_FILENO;
static enum log_format found_format = LOG_JSON, used_format = LOG_JSON;

/* systemd names the descriptor that it has connected to its journal by device and inode (systemd.exec(5)). */
static bool is_journal(const struct stat *status) {
  const char *const stream = getenv("JOURNAL_STREAM");
  char name[48];
  (void)snprintf(name, sizeof name, "%ju:%ju", (uintmax_t)status->st_dev, (uintmax_t)status->st_ino);
  return stream != NULL && strcmp(stream, name) == 0;
}

/*
 * Another process may fill a pipe or a socket between a poll and a write, and O_NONBLOCK set on standard error would
 * hold for all processes that share it. For this reason the guardian opens a pipe a second time, for its own use. A
 * pipe that it may not open (another user made it) is polled and written as it is.
 */
void open_log(void) {
  struct stat status;
  tzset(); /* reads the zone's file now, so that no later line waits for a disk */
  if (fstat(STDERR_FILENO, &status) != 0) return;
  if (isatty(STDERR_FILENO) == 1) found_format = LOG_TEXT;
  if (is_journal(&status)) found_format = LOG_JOURNALD;
  used_format = found_format;
  if (!S_ISFIFO(status.st_mode)) return;
  const int own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (own >= 0) log_fd = own;
}

int log_descriptor(void) {
  return log_fd;
}

void set_log_format(enum log_format wanted) {
  used_format = wanted == LOG_AS_FOUND ? found_format : wanted;
}

void append(struct line *line, const char *format, ...) {
  if (line->length >= LINE_ROOM) return;
  const size_t room = LINE_ROOM - line->length;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line->bytes + line->length, room, format, arguments);
  va_end(arguments);
  if (length > 0 && (size_t)length < room) line->length += (size_t)length;
}

void append_string(struct line *line, const char *name, const char *text) {
  char safe[512];
  size_t at = 0;
  for (; *text != '\0' && at < sizeof safe - 3; text++) {
    const unsigned char byte = (unsigned char)*text;
    if (byte == '"' || byte == '\\') safe[at++] = '\\';
    safe[at++] = byte < 0x20 || byte >= 0x7f ? '?' : (char)byte;
  }
  safe[at] = '\0';
  append(line, ",\"%s\":\"%s\"", name, safe);
}

void begin_line(struct line *line, int level, const char *event, const char *text) {
  line->length = 0;
  line->level = level;
  append(line, "{\"level\":%d,\"time\":%.0f,\"pid\":%ld,\"name\":\"guardian\"", level, clock_ms(CLOCK_REALTIME),
         (long)getpid());
  line->message = line->length;
  append_string(line, "msg", text);
  line->fields = line->length;
  append_string(line, "event", event);
}

static ssize_t write_without_waiting(const char *bytes, size_t length) {
  const ssize_t sent = send(log_fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && errno == ENOTSOCK ? write(log_fd, bytes, length) : sent;
}

void end_line(struct line *line) {
  if (used_format == LOG_JSON) {
    memcpy(line->bytes + line->length, "}\n", 2);
    line->length += 2;
  } else {
    make_text(line, used_format == LOG_JOURNALD);
  }
  struct pollfd out = {.fd = log_fd, .events = POLLOUT, .revents = 0};
  if (poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0) return;
  size_t at = 0;
  while (at < line->length) {
    const ssize_t written = write_without_waiting(line->bytes + at, line->length - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += (size_t)written;
  }
}

void log_message(int level, const char *event, const char *text, const char *syscall_name, int number) {
  struct line line;
  begin_line(&line, level, event, text);
  if (syscall_name != NULL) {
    append_string(&line, "syscall", syscall_name);
    append_string(&line, "code", errno_name(number));
  }
  end_line(&line);
}

const char *errno_name(int number) {
  static char other[24];
  static const struct {
    int number;
    const char *name;
  } names[] = {{EPERM, "EPERM"},           {EACCES, "EACCES"},           {EADDRNOTAVAIL, "EADDRNOTAVAIL"},
               {ENODEV, "ENODEV"},         {ENXIO, "ENXIO"},             {ENETDOWN, "ENETDOWN"},
               {ENOBUFS, "ENOBUFS"},       {ENETUNREACH, "ENETUNREACH"}, {EHOSTUNREACH, "EHOSTUNREACH"},
               {EINVAL, "EINVAL"},         {EAGAIN, "EAGAIN"},           {EMSGSIZE, "EMSGSIZE"},
               {ENOMEM, "ENOMEM"},         {ENOENT, "ENOENT"},           {ENOTDIR, "ENOTDIR"},
               {ENOEXEC, "ENOEXEC"},       {ETIMEDOUT, "ETIMEDOUT"},     {EBADF, "EBADF"},
               {EOPNOTSUPP, "EOPNOTSUPP"}, {ESRCH, "ESRCH"},             {EAFNOSUPPORT, "EAFNOSUPPORT"},
               {EMFILE, "EMFILE"},         {ENFILE, "ENFILE"},           {EEXIST, "EEXIST"},
               {EBUSY, "EBUSY"},           {EDESTADDRREQ, "EDESTADDRREQ"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].number == number) return names[i].name;
  (void)snprintf(other, sizeof other, "errno %d", number);
  return other;
}
