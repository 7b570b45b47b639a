/* SPDX-License-Identifier: Apache-2.0 */
/* See rights.h. */
#define _GNU_SOURCE
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * The two calls below need CAP_SETPCAP. Without CAP_SETPCAP, no_new_privs alone keeps a child of uid 0 from getting
 * capabilities back.
 */
static void drop_bounding_set(void) {
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  (void)prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0);
}

/* Returns true if a capability is left in any set. `sets` are those that capget() reads. */
static bool has_capability(const struct __user_cap_data_struct *sets) {
  uint32_t left = 0;
  for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
    left |= sets[i].effective | sets[i].permitted | sets[i].inheritable;
  for (unsigned long capability = 0; capability < 64; capability++)
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1) left = 1;
  return left != 0;
}

/*
 * dropPrivileges(): takes every capability from the calling thread, for good. Uses raw system calls, because the kernel
 * keeps credentials by thread and a C library's wrapper may change all threads. Reads every set afterwards, and returns
 * only if nothing is left.
 */
napi_value drop_privileges(napi_env env, napi_callback_info info) {
  (void)info;
  if (syscall(SYS_gettid) == getpid()) {
    /* The engine's own thread could open no more sockets. */
    throw_errno(env, "capset", EINVAL);
    return NULL;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    throw_errno(env, "prctl", errno);
    return NULL;
  }
  drop_bounding_set();
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  memset(sets, 0, sizeof sets);
  if (syscall(SYS_capset, &header, sets) != 0) {
    throw_errno(env, "capset", errno);
    return NULL;
  }
  memset(sets, 0xff, sizeof sets);
  if (syscall(SYS_capget, &header, sets) != 0)
    throw_errno(env, "capget", errno);
  else if (has_capability(sets))
    throw_errno(env, "capset", EPERM);
  else if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
    throw_errno(env, "prctl", EPERM);
  return NULL;
}

/* forbidDumps(): the process writes no core, and no other process of the same user reads its memory. */
napi_value forbid_dumps(napi_env env, napi_callback_info info) {
  (void)info;
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) throw_errno(env, "prctl", errno);
  return NULL;
}

/* peerOf(fd): returns pid and uid of the process that connected a unix socket, or that called listen() on it. */
napi_value read_peer(napi_env env, napi_callback_info info) {
  napi_value values[1], result, number;
  struct ucred peer = {0, 0, 0};
  socklen_t length = sizeof peer;
  int fd = -1;
  if (!read_arguments(env, info, 1, values, NULL) || !read_int(env, values[0], &fd)) return NULL;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    throw_errno(env, "getsockopt", errno);
    return NULL;
  }
  /* Every other socket returns a peer as well, with a pid of 0. */
  if (length != sizeof peer || peer.pid < 0 || peer.uid == (uid_t)-1) {
    throw_errno(env, "getsockopt", ENOTCONN);
    return NULL;
  }
  if (!ok(env, napi_create_object(env, &result)) || !ok(env, napi_create_int32(env, peer.pid, &number)) ||
      !ok(env, napi_set_named_property(env, result, "pid", number)) ||
      !ok(env, napi_create_uint32(env, peer.uid, &number)) ||
      !ok(env, napi_set_named_property(env, result, "uid", number)))
    return NULL;
  return result;
}
