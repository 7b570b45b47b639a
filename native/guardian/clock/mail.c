/* SPDX-License-Identifier: Apache-2.0 */
/* See mail.h. */
#include "mail.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int clock_wake_fd = -1, executor_wake_fd = -1;

static struct order *sent, *returned;

bool open_mail(void) {
  clock_wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  executor_wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return clock_wake_fd >= 0 && executor_wake_fd >= 0;
}

void clear_wake_up(int fd) {
  uint64_t count;
  while (read(fd, &count, sizeof count) == (ssize_t)sizeof count) continue;
}

/* A counter that is full wakes the other thread already. */
static void wake(int fd) {
  const uint64_t one = 1;
  const ssize_t written = write(fd, &one, sizeof one);
  (void)written;
}

static void push(struct order **list, struct order *order) {
  order->next = __atomic_load_n(list, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(list, &order->next, order, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) continue;
}

static struct order *take(struct order **list) {
  return __atomic_exchange_n(list, NULL, __ATOMIC_ACQUIRE);
}

void send_order(struct order *order) {
  push(&sent, order);
  wake(clock_wake_fd);
}

void wake_clock(void) {
  wake(clock_wake_fd);
}

struct order *take_returned_orders(void) {
  return take(&returned);
}

struct order *take_sent_orders(void) {
  struct order *oldest = NULL;
  for (struct order *order = take(&sent), *next; order != NULL; order = next) {
    next = order->next;
    order->next = oldest;
    oldest = order;
  }
  return oldest;
}

void return_order(struct order *order) {
  push(&returned, order);
}

void wake_executor(void) {
  wake(executor_wake_fd);
}
