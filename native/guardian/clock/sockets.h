/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of the clock. One raw socket for each family sends packets and receives those of other routers; one packet
 * socket sends frames. An eventfd and a timerfd are shared with the engine. All are opened before the engine starts.
 */
#ifndef GUARDIAN_CLOCK_SOCKETS_H
#define GUARDIAN_CLOCK_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

/* The eventfd of questions and the timerfd of missing frames (common/guardian-words.h). */
extern int ask_fd, cover_fd;

/*
 * Opens everything. Returns NULL, or the name of the system call that failed; errno says why. A socket that cannot be
 * opened is no failure: its frames fail, and the engine then sends them itself.
 */
const char *open_clock_descriptors(void);

/* Passes ASK and COVER on to the engine. Runs in the child, before exec. Returns false with errno. */
bool pass_clock_descriptors(void);

/* Return -1 without the socket. `family` is 4 or 6. */
int raw_socket_of(uint8_t family);
int frame_socket(void);

#endif
