/* SPDX-License-Identifier: Apache-2.0 */
/* See privileges.h. */
#define _GNU_SOURCE
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool read_user(const char *text, uid_t *uid, gid_t *gid) {
  char *end = NULL;
  const unsigned long user = strtoul(text, &end, 10);
  if (end == text || *end != ':') return false;
  const char *rest = end + 1;
  const unsigned long group = strtoul(rest, &end, 10);
  if (end == rest || *end != '\0' || user >= UINT_MAX || group >= UINT_MAX) return false;
  *uid = (uid_t)user;
  *gid = (gid_t)group;
  return true;
}

/*
 * Becomes the user. A process that is that user already needs no capability, and keeps the groups that the daemon was
 * given.
 */
static int become_user(uid_t uid, gid_t gid) {
  if (getuid() == uid && geteuid() == uid && getgid() == gid && getegid() == gid) return 0;
  return setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0 ? errno : 0;
}

static int empty_capability_sets(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  memset(sets, 0, sizeof sets);
  if (syscall(SYS_capset, &header, sets) != 0) return errno;
  memset(sets, 0xff, sizeof sets);
  if (syscall(SYS_capget, &header, sets) != 0) return errno;
  uint32_t left = 0;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    left |= sets[i].effective | sets[i].permitted | sets[i].inheritable;
  return left != 0 ? EPERM : 0;
}

/*
 * Drops all privileges for good, and also the ways by which a set-user-ID program or one with capabilities would regain
 * them.
 */
static int drop_privileges(uid_t uid, gid_t gid) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  /*
   * The next two calls need CAP_SETPCAP. Without CAP_SETPCAP, no_new_privs keeps a program of uid 0 from getting
   * capabilities back.
   */
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  (void)prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0);
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  const int refused = become_user(uid, gid);
  return refused != 0 ? refused : empty_capability_sets();
}

int change_privileges(const char *user, bool keeps) {
  uid_t uid = getuid();
  gid_t gid = getgid();
  if (user != NULL && !read_user(user, &uid, &gid)) return EINVAL;
  const bool is_own = getuid() == uid && geteuid() == uid;
  if (!keeps || (!is_own && uid != 0)) return drop_privileges(uid, gid);
  /* An exec of root gets the whole bounding set: more than a daemon of another user was given. */
  if (!is_own && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return become_user(uid, gid);
}
