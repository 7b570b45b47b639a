/* SPDX-License-Identifier: Apache-2.0 */
/* See filter.h. */
#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* UNCONFINED: a build with a sanitizer, which makes calls of its own (fuzz/build.sh). */
#if defined(UNCONFINED)
#elif defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#ifdef ARCHITECTURE

#define PROGRAM_MAX 160u
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

/* System calls of both threads: events, sockets that are open, clocks, the end of thread and process. */
static const uint32_t COMMON[] = {
#ifdef SYS_poll
    SYS_poll,
#endif
    SYS_read,          SYS_write,       SYS_ppoll,        SYS_recvmmsg,        SYS_sendmsg,
    SYS_sendto,        SYS_clock_gettime, SYS_futex,      SYS_rt_sigreturn,    SYS_restart_syscall,
    SYS_sched_yield,   SYS_exit,        SYS_exit_group,   SYS_timerfd_settime, SYS_rt_sigprocmask,
};

/*
 * The executor: channel and log, children that exist, and the memory of messages. The next engine needs a memfd, a
 * channel and a pipe. socket(), mmap() and mprotect() are permitted with certain arguments only.
 */
static const uint32_t EXECUTOR[] = {
    SYS_recvmsg,    SYS_recvfrom,   SYS_sendmmsg,   SYS_setsockopt,      SYS_getsockopt,  SYS_bind,
    SYS_socketpair, SYS_pipe2,      SYS_close,      SYS_fcntl,           SYS_lseek,       SYS_pread64,     SYS_memfd_create,
    SYS_kill,       SYS_waitid,     SYS_wait4,      SYS_pidfd_open,      SYS_nanosleep,   SYS_clock_nanosleep,
    SYS_getpid,     SYS_gettid,     SYS_tgkill,     SYS_tkill,           SYS_rt_sigaction, SYS_writev,
    SYS_brk,        SYS_munmap,     SYS_mremap,     SYS_madvise,         SYS_getrandom,
};

struct program {
  struct sock_filter at[PROGRAM_MAX];
  uint16_t length;
};

static void add(struct program *program, struct sock_filter instruction) {
  program->at[program->length++] = instruction;
}

static void load(struct program *program, size_t offset) {
  add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void give(struct program *program, uint32_t result) {
  add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, result));
}

static void permit(struct program *program, const uint32_t *numbers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], 0, 1));
    give(program, SECCOMP_RET_ALLOW);
  }
}

/* Loads the low half of an argument. x86_64 and aarch64 are little endian. */
static void load_argument(struct program *program, unsigned number) {
  load(program, offsetof(struct seccomp_data, args) + number * sizeof(uint64_t));
}

/* Memory that can be executed is not needed. */
static void permit_without_code(struct program *program, uint32_t number) {
  add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4));
  load_argument(program, 2);
  add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1));
  give(program, REFUSE);
  give(program, SECCOMP_RET_ALLOW);
}

/* Sockets of IP, for memberships, and of netlink. A raw socket that was not opened at the start is tried again later. */
static void permit_sockets(struct program *program) {
  static const uint32_t families[] = {AF_INET, AF_INET6, AF_NETLINK};
  const uint32_t count = sizeof families / sizeof *families;
  add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 2 + 2 * count));
  load_argument(program, 0);
  permit(program, families, count);
  give(program, REFUSE);
}

/* Calls of another architecture, and of x32, whose numbers have another bit, are refused as unknown. */
static const char *confine(const uint32_t *numbers, size_t count) {
  struct program program = {.length = 0};
  load(&program, offsetof(struct seccomp_data, arch));
  add(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
  give(&program, REFUSE);
  load(&program, offsetof(struct seccomp_data, nr));
  permit(&program, COMMON, sizeof COMMON / sizeof *COMMON);
  permit(&program, numbers, count);
  if (count != 0) {
    permit_without_code(&program, SYS_mmap);
    permit_without_code(&program, SYS_mprotect);
    permit_sockets(&program);
  }
  give(&program, REFUSE);
  const struct sock_fprog filter = {program.length, program.at};
  /* Without CAP_SYS_ADMIN the kernel takes a filter only from a thread whose programs cannot gain privileges. */
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "prctl";
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG, &filter) == 0) return NULL;
  /* Linux before 4.14 has no flag for the log. */
  if (errno != EINVAL || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) return "seccomp";
  return NULL;
}

const char *confine_executor(void) {
  return confine(EXECUTOR, sizeof EXECUTOR / sizeof *EXECUTOR);
}

const char *confine_clock(void) {
  return confine(NULL, 0);
}

#else

const char *confine_executor(void) {
  errno = ENOSYS;
  return "seccomp";
}

const char *confine_clock(void) {
  return confine_executor();
}

#endif
