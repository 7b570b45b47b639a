/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Background mode (--background). A service manager may wait for the end of the process that it started (Type=forking).
 * The started process ends when the engine is ready, or with the engine's status if it does not start. Standard error
 * stays unchanged, because the log has no other destination.
 */
#ifndef GUARDIAN_BACKGROUND_H
#define GUARDIAN_BACKGROUND_H

/* Returns in the child. The parent waits for report_start(). */
void go_to_background(void);

/* Ends the waiting parent with this exit status. Does nothing without one. */
void report_start(int status);

#endif
