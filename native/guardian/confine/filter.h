/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that each thread of the guardian may still make once it runs (seccomp(2), docs/adr/0095). A refused
 * call fails with EPERM, and the kernel notes it in its audit log. The thread goes on: no refusal may keep an address
 * here. This file decides the lists. The filter knows no other file of the guardian, so that a test can link it alone.
 */
#ifndef GUARDIAN_CONFINE_FILTER_H
#define GUARDIAN_CONFINE_FILTER_H

/*
 * Confine the calling thread for good, also for its future children and programs. The functions return NULL, or the
 * name of the system call that failed; errno says why (ENOSYS: this architecture has no list).
 */
const char *confine_executor(void);
const char *confine_clock(void);

#endif
