/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes cleanup plans. The addresses of all units are removed before the first packet is sent, and after the grace
 * period no packet is sent. Before both, the clock thread gets a moment to end its round. This file does not know:
 * VRRP, rtnetlink and addresses. A plan is bytes: requests and packets that arrive complete.
 */
#ifndef GUARDIAN_EXECUTE_H
#define GUARDIAN_EXECUTE_H

/*
 * Opens the sockets of netlink.h and packet.h before the engine starts, so that executing a plan opens nothing. An
 * execution retries a socket that could not be opened. Logs nothing: the engine itself names a missing capability.
 */
void open_sockets(void);

/*
 * Executes the chosen part of each plan, and resets the choice to SKIP. `why` begins the log line. `noticed_at` is the
 * CLOCK_MONOTONIC in ms from which the line counts its duration.
 */
void execute_plans(double noticed_at, const char *why);

/*
 * Sends the packets of executed plans once more, if the clock thread was busy during the execution and is no longer. A
 * frame that it held may have followed priority 0.
 */
void repeat_packets(void);

#endif
