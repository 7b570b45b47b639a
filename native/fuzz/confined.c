/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confines itself as a thread of the guardian does, and then tries calls that the guardian never makes. Prints a line
 * for each call, with its errno: test/netns/confined.test.ts reads them.
 *
 * usage: confined executor|clock
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../guardian/confine/filter.h"

static void report(const char *name, long result) {
  char line[80];
  const int number = result < 0 ? errno : 0;
  const int length = snprintf(line, sizeof line, "%s %s\n", name, number == 0 ? "done" : number == EPERM ? "EPERM" : "other");
  const ssize_t written = write(STDOUT_FILENO, line, (size_t)length);
  (void)written;
}

int main(int count, char **arguments) {
  static char *const nothing[] = {NULL};
  if (count != 2) return 64;
  const char *const failed = strcmp(arguments[1], "clock") == 0 ? confine_clock() : confine_executor();
  if (failed != NULL) {
    report(failed, -1);
    return 1;
  }
  report("openat", syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY));
  report("execve", syscall(SYS_execve, "/bin/true", nothing, nothing));
  report("clone", syscall(SYS_clone, 0, 0, 0, 0, 0));
  report("ptrace", syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0));
  report("packet socket", syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0));
  report("executable memory", syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  report("memory", syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  report("udp socket", syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0));
  report("kill", syscall(SYS_kill, getpid(), 0));
  return 0;
}
