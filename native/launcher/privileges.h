/* SPDX-License-Identifier: Apache-2.0 */
/* Drops privileges before the launcher's first run. */
#ifndef LAUNCHER_PRIVILEGES_H
#define LAUNCHER_PRIVILEGES_H

#include <stdbool.h>

/*
 * Becomes the user "UID:GID" (NULL = stays as it is) and drops every privilege for good. With `keeps` it keeps the
 * privileges of its own user and of root. Returns 0 or errno.
 */
int change_privileges(const char *user, bool keeps);

#endif
