/* SPDX-License-Identifier: Apache-2.0 */
/* See manager.h. */
#define _GNU_SOURCE
#include "manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel.h"
#include "now.h"
#include "heartbeat.h"
#include "log.h"

#define WAKE_NS (250 * NS_PER_MS) /* time for an idle engine to turn before a watchdog message is due */

static struct {
  int fd; /* socket to the service manager; -1: no service manager asked for notifications */
  struct sockaddr_un to;
  socklen_t size;
  bool ready; /* READY=1 has been sent */
  bool failing; /* the last message failed */
  uint64_t timeout; /* ns between two watchdog messages at most (WatchdogSec=); 0 = no watchdog */
  uint64_t next; /* time at which the next watchdog message is due */
  uint64_t beat; /* the engine's heartbeat at the last watchdog message */
} manager = {.fd = -1};

bool manager_wants_ready(void) {
  return manager.fd >= 0 && !manager.ready;
}

bool manager_has_watchdog(void) {
  return manager.timeout != 0;
}

static void log_not_notified(const char *syscall_name, int number) {
  log_message(LOG_WARN, "serviceManagerNotNotified", "cannot notify the service manager", syscall_name, number);
}

void notify_manager(const void *text, size_t length) {
  if (manager.fd < 0) return;
  const struct sockaddr *const to = (const struct sockaddr *)&manager.to;
  const bool failing = sendto(manager.fd, text, length, MSG_NOSIGNAL, to, manager.size) < 0;
  if (failing && !manager.failing) log_not_notified("sendto", errno);
  manager.failing = failing;
}

/* Returns the watchdog's time in ns; 0 if there is none, or if it is meant for another process. */
static uint64_t read_timeout(const char *microseconds, const char *pid) {
  if (microseconds == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid())) return 0;
  char *end = NULL;
  const unsigned long long value = strtoull(microseconds, &end, 10);
  return *end != '\0' || value > UINT64_MAX / 1000u ? 0 : (uint64_t)value * 1000u;
}

/* '@' begins an abstract name. */
void open_manager(void) {
  (void)unsetenv(MANAGER_VARIABLE);
  const char *const name = getenv("NOTIFY_SOCKET");
  if (name == NULL || (name[0] != '/' && name[0] != '@')) return;
  const size_t length = strlen(name);
  int number = ENAMETOOLONG;
  if (length < sizeof manager.to.sun_path) {
    manager.to.sun_family = AF_UNIX;
    memcpy(manager.to.sun_path, name, length);
    if (name[0] == '@') manager.to.sun_path[0] = '\0';
    manager.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    number = errno;
  }
  manager.timeout = read_timeout(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
  (void)unsetenv("NOTIFY_SOCKET");
  (void)unsetenv("WATCHDOG_USEC");
  (void)unsetenv("WATCHDOG_PID");
  if (manager.fd < 0) return log_not_notified("socket", number);
  (void)setenv(MANAGER_VARIABLE, "1", 1);
}

void notify_ready(void) {
  static const char text[] = "READY=1";
  manager.ready = true;
  notify_manager(text, sizeof text - 1);
}

/*
 * Sends two messages in the time that the manager allows, but none if the engine's main thread has not turned since the
 * last one. The manager then acts as the unit file says, even if other threads of the daemon still run. An idle engine
 * need not have turned, so the guardian wakes it shortly before the message is due. While the addresses wait for the next
 * engine, the wait has a limit of its own.
 */
void feed_watchdog(const struct engine *engine, uint64_t now) {
  static const char text[] = "WATCHDOG=1";
  static bool woken;
  if (manager.timeout == 0 || !manager.ready || now + WAKE_NS < manager.next) return;
  const uint64_t turned = engine_beat();
  if (turned == manager.beat && !engine->waits) {
    if (!woken) wake_engine(engine);
    woken = true;
    return;
  }
  if (now < manager.next) return;
  woken = false;
  manager.beat = turned;
  manager.next = now + manager.timeout / 2;
  notify_manager(text, sizeof text - 1);
}

uint64_t next_feed_at(uint64_t now) {
  if (manager.timeout == 0 || !manager.ready || now >= manager.next) return UINT64_MAX;
  return now + WAKE_NS < manager.next ? manager.next - WAKE_NS : manager.next;
}
