/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ways between the threads. Orders go to the clock thread, unused orders go back to the executor thread, and
 * each thread can wake the other. No thread ever waits for the other. A list is taken whole, so that no order is on two
 * lists.
 */
#ifndef GUARDIAN_CLOCK_MAIL_H
#define GUARDIAN_CLOCK_MAIL_H

#include <stdbool.h>

#include "order.h"

/* Eventfds that each thread polls; -1 before open_mail(). */
extern int clock_wake_fd, executor_wake_fd;

/* Returns false with errno. */
bool open_mail(void);

/* Reads the counter of an eventfd, which is then no longer readable. */
void clear_wake_up(int fd);

/* The executor thread's side. */
void send_order(struct order *order);
void wake_clock(void);
/* Returns a list of orders that are no longer used. */
struct order *take_returned_orders(void);

/* The clock thread's side. */
/* Returns a list of orders in the sequence in which they were sent. */
struct order *take_sent_orders(void);
void return_order(struct order *order);
void wake_executor(void);

#endif
