/* SPDX-License-Identifier: Apache-2.0 */
/* See words.h. */
#define _GNU_SOURCE
#include "words.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "../common/guardian-words.h"
#include "handle.h"

#define MAX_MS 4e12 /* some 100 years */

static const napi_type_tag words_tag = {0x2c9be1704d5a4c86ull, 0x8e13f7a6905b42d1ull};

/* ---- creation ---- */

/* Unmaps the memory when the object is collected. Several objects may map the same memory. */
static void on_words_collected(napi_env env, void *pointer, void *hint) {
  struct words_object *const object = pointer;
  (void)env;
  (void)hint;
  (void)munmap(object->memory, sizeof *object->memory);
  free(object);
}

/* Returns the mapped memory, or NULL after it has thrown. */
static struct guardian_words *map_words(napi_env env, int fd) {
  struct stat file;
  /* A program that calls the C library's fstat() needs glibc 2.33; Debian 10 and RHEL 8 have glibc 2.28. */
  if (syscall(SYS_fstat, fd, &file) != 0) {
    throw_errno(env, "fstat", errno);
    return NULL;
  }
  /* Smaller memory would end the process at the first access beyond its end. */
  if (file.st_size != (off_t)sizeof(struct guardian_words)) {
    throw_errno(env, "mmap", EINVAL);
    return NULL;
  }
  struct guardian_words *words = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (words == MAP_FAILED) {
    throw_errno(env, "mmap", errno);
    return NULL;
  }
  if (words->magic == WORDS_MAGIC && words->units == WORDS_UNITS) return words;
  (void)munmap(words, sizeof *words);
  throw_errno(env, "mmap", EPROTO);
  return NULL;
}

/* new GuardianWords(fd) */
napi_value construct_words(napi_env env, napi_callback_info info) {
  napi_value values[1], self;
  int fd = -1;
  if (!called_with_new(env, info) || !read_arguments(env, info, 1, values, &self) || !read_int(env, values[0], &fd))
    return NULL;
  struct words_object *const object = calloc(1, sizeof *object);
  if (object == NULL) {
    throw_errno(env, "mmap", ENOMEM);
    return NULL;
  }
  object->memory = map_words(env, fd);
  if (object->memory == NULL) {
    free(object);
    return NULL;
  }
  if (!ok(env, napi_wrap(env, self, object, on_words_collected, NULL, NULL))) {
    on_words_collected(env, object, NULL);
    return NULL;
  }
  return ok(env, napi_type_tag_object(env, self, &words_tag)) ? self : NULL;
}

struct words_object *unwrap_words_object(napi_env env, napi_value self) {
  bool ours = false;
  void *pointer = NULL;
  if (napi_check_object_type_tag(env, self, &words_tag, &ours) == napi_ok && ours &&
      napi_unwrap(env, self, &pointer) == napi_ok)
    return pointer;
  throw_type(env, "not a GuardianWords");
  return NULL;
}

static struct guardian_words *unwrap_words(napi_env env, napi_value self) {
  const struct words_object *const object = unwrap_words_object(env, self);
  return object == NULL ? NULL : object->memory;
}

bool read_ms(napi_env env, napi_value value, double *ms) {
  if (napi_get_value_double(env, value, ms) != napi_ok) {
    throw_type(env, "expected a number");
    return false;
  }
  if (*ms >= 0 && *ms < MAX_MS) return true;
  throw_range(env, "ms are 0 or more");
  return false;
}

/* ---- one unit ---- */

/* Reads the arguments (unit) or, with `ms`, (unit, ms). ms is 0 or more. */
static struct guardian_unit *read_unit(napi_env env, napi_callback_info info, double *ms) {
  napi_value values[2], self;
  int unit = 0;
  if (!read_arguments(env, info, ms == NULL ? 1 : 2, values, &self)) return NULL;
  struct guardian_words *const words = unwrap_words(env, self);
  if (words == NULL || !read_int(env, values[0], &unit)) return NULL;
  if (unit < 0 || (unsigned)unit >= WORDS_UNITS) {
    throw_range(env, "a unit is 0 to 65535");
    return NULL;
  }
  if (ms != NULL && !read_ms(env, values[1], ms)) return NULL;
  return &words->unit[unit];
}

static uint32_t load_word(const uint32_t *word) {
  return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

uint32_t await_not_busy(const uint32_t *word, double ms) {
  const struct timespec pause = {0, 100000};
  const uint64_t until = uv_hrtime() + (uint64_t)(ms * 1e6);
  uint32_t value = load_word(word);
  while ((value & WORD_BUSY) != 0 && uv_hrtime() < until) {
    (void)nanosleep(&pause, NULL);
    value = load_word(word);
  }
  return value;
}

/* word(unit) */
napi_value words_word(napi_env env, napi_callback_info info) {
  const struct guardian_unit *const unit = read_unit(env, info, NULL);
  return unit == NULL ? NULL : to_uint(env, load_word(&unit->word));
}

/*
 * arm(unit, ms): returns the generation for the plan that is sent next; 0 if the guardian has executed the plan before
 * and the engine has not acknowledged that.
 */
napi_value words_arm(napi_env env, napi_callback_info info) {
  double ms = 0;
  struct guardian_unit *const unit = read_unit(env, info, &ms);
  if (unit == NULL) return NULL;
  uint32_t word = await_not_busy(&unit->word, ms), next;
  /* A deadline that was set before the unit was disarmed has passed already. */
  if ((word & (WORD_ARMED | WORD_EXECUTED)) == 0) __atomic_store_n(&unit->deadline, 0, __ATOMIC_SEQ_CST);
  do {
    if ((word & WORD_EXECUTED) != 0) return to_uint(env, 0);
    next = (word >> WORD_GENERATION) % WORD_GENERATIONS + 1;
  } while (!__atomic_compare_exchange_n(&unit->word, &word,
                                        next << WORD_GENERATION | WORD_ARMED | (word & WORD_BUSY), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return to_uint(env, next);
}

/*
 * withdraw(unit, ms): returns the word afterwards. EXECUTED: the guardian executed the plan first. BUSY: it did not
 * finish in time.
 */
napi_value words_withdraw(napi_env env, napi_callback_info info) {
  double ms = 0;
  struct guardian_unit *const unit = read_unit(env, info, &ms);
  if (unit == NULL) return NULL;
  /* Disarms first and waits second: a guardian that begins now finds the unit disarmed. */
  (void)__atomic_and_fetch(&unit->word, ~WORD_ARMED, __ATOMIC_SEQ_CST);
  return to_uint(env, await_not_busy(&unit->word, ms));
}

/* acknowledge(unit, ms): returns the word afterwards. Unless it is BUSY, a new plan may be armed. */
napi_value words_acknowledge(napi_env env, napi_callback_info info) {
  double ms = 0;
  struct guardian_unit *const unit = read_unit(env, info, &ms);
  if (unit == NULL) return NULL;
  const uint32_t word = await_not_busy(&unit->word, ms);
  if ((word & WORD_BUSY) != 0) return to_uint(env, word);
  return to_uint(env, __atomic_and_fetch(&unit->word, ~WORD_EXECUTED, __ATOMIC_SEQ_CST));
}

/* deadline(unit, ms): returns the deadline before. */
napi_value words_deadline(napi_env env, napi_callback_info info) {
  double ms = 0;
  struct guardian_unit *const unit = read_unit(env, info, &ms);
  if (unit == NULL) return NULL;
  return to_ms(env, __atomic_exchange_n(&unit->deadline, (uint64_t)(ms * 1e6), __ATOMIC_SEQ_CST));
}

/* ---- all units ---- */

/* executions(): returns how many plans the guardian has begun to execute. */
napi_value words_executions(napi_env env, napi_callback_info info) {
  napi_value self, result;
  size_t count = 0;
  if (!ok(env, napi_get_cb_info(env, info, &count, NULL, &self, NULL))) return NULL;
  const struct guardian_words *const words = unwrap_words(env, self);
  if (words == NULL) return NULL;
  const uint64_t executions = __atomic_load_n(&words->executions, __ATOMIC_SEQ_CST);
  return ok(env, napi_create_double(env, (double)executions, &result)) ? result : NULL;
}

/* beat(ms): publishes the engine's heartbeat and returns the guardian's, CLOCK_MONOTONIC in ms. */
napi_value words_beat(napi_env env, napi_callback_info info) {
  napi_value values[1], self;
  double ms = 0;
  if (!read_arguments(env, info, 1, values, &self)) return NULL;
  struct guardian_words *const words = unwrap_words(env, self);
  if (words == NULL) return NULL;
  if (napi_get_value_double(env, values[0], &ms) != napi_ok || !(ms >= 0 && ms < MAX_MS)) {
    throw_type(env, "expected ms, 0 or more");
    return NULL;
  }
  __atomic_store_n(&words->engine_beat, (uint64_t)(ms * 1e6), __ATOMIC_SEQ_CST);
  return to_ms(env, __atomic_load_n(&words->guardian_beat, __ATOMIC_SEQ_CST));
}

/*
 * hungUp(fd): returns whether the other end of the channel is closed. Node could only read from the channel, and throws
 * an exception for each read that finds nothing.
 */
napi_value words_hung_up(napi_env env, napi_callback_info info) {
  napi_value values[1], self, result;
  int fd = -1;
  if (!read_arguments(env, info, 1, values, &self) || unwrap_words(env, self) == NULL ||
      !read_int(env, values[0], &fd))
    return NULL;
  struct pollfd look = {fd, 0, 0};
  const bool closed = poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  return ok(env, napi_get_boolean(env, closed, &result)) ? result : NULL;
}
