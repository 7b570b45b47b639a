/* SPDX-License-Identifier: Apache-2.0 */
/* See heartbeat.h. */
#include "heartbeat.h"

#include "channel.h"
#include "now.h"
#include "log.h"
#include "words.h"

#define SILENCE_MS 2000 /* silence of the engine after which a line is logged */
#define SUSPEND_MS 10 /* a smaller difference is the time between the readings of two clocks */

uint64_t engine_beat(void) {
  return __atomic_load_n(&words->engine_beat, __ATOMIC_SEQ_CST);
}

void publish_beat(uint64_t now) {
  static bool logged;
  __atomic_store_n(&words->guardian_beat, now, __ATOMIC_SEQ_CST);
  const uint64_t engine = engine_beat();
  const bool silent = engine != 0 && now > engine && now - engine > SILENCE_MS * NS_PER_MS;
  if (silent == logged) return;
  logged = silent;
  struct line line;
  if (silent) {
    begin_line(&line, LOG_WARN, "engineSilent", "the engine does not answer");
    append(&line, ",\"silentMs\":%.0f", (double)(now - engine) / 1e6);
  } else {
    begin_line(&line, LOG_WARN, "engineAnswers", "the engine answers again");
  }
  end_line(&line);
}

/*
 * Wakes the engine after a suspension of the machine. An engine whose next alarm is far away would keep addresses that
 * another node has taken over meanwhile. A needless wake-up costs the engine only a look at its clocks.
 */
void wake_engine_after_suspend(const struct engine *engine) {
  static double suspended = -1; /* ms of suspension since boot; -1 = not known yet */
  const double monotonic = clock_ms(CLOCK_MONOTONIC), before = suspended;
  suspended = clock_ms(CLOCK_BOOTTIME) - monotonic;
  if (before >= 0 && suspended - before >= SUSPEND_MS) wake_engine(engine);
}
