/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the shared memory of words.h, and reads and writes its words. */
#define _GNU_SOURCE
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "message.h"

struct guardian_words *words;
int words_fd = -1;

/* Returns MAP_FAILED and the name of the system call that failed. */
static void *map_words(const char **failed) {
  *failed = "ftruncate";
  if (ftruncate(words_fd, (off_t)sizeof *words) != 0) return MAP_FAILED;
  *failed = "fcntl";
  if (fcntl(words_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return MAP_FAILED;
  *failed = "mmap";
  return mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED, words_fd, 0);
}

void share_words(void) {
  static const char complaint[] = "no shared memory with the engine, continuing without deadlines";
  (void)unsetenv(WORDS_VARIABLE);
  (void)unsetenv(CLOCK_VARIABLE);
  (void)unsetenv(SNAPSHOT_VARIABLE);
  words_fd = (int)syscall(SYS_memfd_create, "holdfast-words", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (words_fd < 0) return log_message(LOG_WARN, "noSharedMemory", complaint, "memfd_create", errno);
  const char *failed;
  void *const memory = map_words(&failed);
  if (memory == MAP_FAILED) {
    log_message(LOG_WARN, "noSharedMemory", complaint, failed, errno);
    (void)close(words_fd);
    words_fd = -1;
    return;
  }
  words = memory;
  words->magic = WORDS_MAGIC;
  words->units = WORDS_UNITS;
}

static uint32_t *word_of(const struct plan *plan) {
  return &words->unit[plan->unit].word;
}

/* Returns the generation that the word is armed for; 0 = it is not armed. */
static uint32_t armed_generation(uint32_t word) {
  return (word & WORD_ARMED) != 0 ? word >> WORD_GENERATION : 0;
}

bool is_armed(const struct plan *plan) {
  return plan->guarded && armed_generation(__atomic_load_n(word_of(plan), __ATOMIC_SEQ_CST)) == plan->generation;
}

uint64_t deadline_of(const struct plan *plan) {
  return __atomic_load_n(&words->unit[plan->unit].deadline, __ATOMIC_SEQ_CST);
}

/* Clears and sets bits of a word that is armed for this plan. Returns false if it is not. */
static bool change_armed_word(const struct plan *plan, uint32_t cleared, uint32_t set) {
  uint32_t word = __atomic_load_n(word_of(plan), __ATOMIC_SEQ_CST);
  do {
    if (armed_generation(word) != plan->generation) return false;
  } while (!__atomic_compare_exchange_n(word_of(plan), &word, (word & ~cleared) | set, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST));
  return true;
}

bool mark_busy(const struct plan *plan) {
  return change_armed_word(plan, 0, WORD_BUSY);
}

bool mark_executed(const struct plan *plan) {
  if (!change_armed_word(plan, WORD_ARMED, WORD_BUSY | WORD_EXECUTED)) return false;
  (void)__atomic_add_fetch(&words->executions, 1, __ATOMIC_SEQ_CST);
  return true;
}

bool is_executed(const struct plan *plan) {
  const uint32_t word = __atomic_load_n(word_of(plan), __ATOMIC_SEQ_CST);
  return (word & WORD_EXECUTED) != 0 && word >> WORD_GENERATION == plan->generation;
}

void clear_busy(const struct plan *plan) {
  (void)__atomic_and_fetch(word_of(plan), ~WORD_BUSY, __ATOMIC_SEQ_CST);
}

bool was_disarmed(const struct plan *plan) {
  return (__atomic_load_n(word_of(plan), __ATOMIC_SEQ_CST) & WORD_ARMED) == 0;
}
