/* SPDX-License-Identifier: Apache-2.0 */
/* The guardian's knowledge of its engine. */
#ifndef GUARDIAN_ENGINE_H
#define GUARDIAN_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct engine {
  pid_t pid; /* 0 once it was reaped */
  int pidfd; /* -1 if the kernel has none: then SIGCHLD alone reports the death */
  int channel; /* -1 once it was closed */
  int report; /* of a next engine that has not executed its program yet; otherwise -1 */
  int status; /* status from waitpid(), valid if pid is 0 */
  bool gone; /* dead, or its end of the channel closed: the plans have been executed */
  bool ready; /* signal handlers are in place (KIND_READY) */
  uint64_t held; /* signals that wait until the engine is ready, one bit each */
  uint64_t hold_until; /* ns; 0 = nothing is held */
  bool waits; /* the addresses of a dead engine wait for the next engine to adopt them (restart.h) */
  bool stopping; /* a signal has ordered the engine to stop; the engine may have died before it received the signal */
  bool replaced; /* killed by its own order to replace it; false once the next one was started */
  bool settled; /* the engine has adopted what it adopts (KIND_SETTLED) */
  uint64_t died_at; /* ns; time of the death after which the addresses wait */
};

#endif
