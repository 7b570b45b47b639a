/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GuardianWords: the engine's side of the memory that it shares with its guardian (common/guardian-words.h). The addon
 * maps it, because JavaScript promises nothing about memory that another process writes.
 */
#ifndef ADDON_WORDS_H
#define ADDON_WORDS_H

#include "../common/guardian-words.h"
#include "node.h"

struct prover;

/* A GuardianWords. */
struct words_object {
  struct guardian_words *memory;
  struct prover *prover; /* NULL until answer() (proof.h) */
};

/* Returns NULL after it has thrown. */
struct words_object *unwrap_words_object(napi_env env, napi_value self);

/* Reads milliseconds, 0 or more. Returns false after it has thrown. */
bool read_ms(napi_env env, napi_value value, double *ms);

/*
 * Waits until the word is not busy. The guardian keeps the word of a unit busy for a few netlink requests, and that of a
 * slot for a few frames. A guardian that is stopped at that moment must not stop the engine, so after `ms` the function
 * returns the busy word.
 */
uint32_t await_not_busy(const uint32_t *word, double ms);

napi_value construct_words(napi_env env, napi_callback_info info);
napi_value words_word(napi_env env, napi_callback_info info);
napi_value words_arm(napi_env env, napi_callback_info info);
napi_value words_withdraw(napi_env env, napi_callback_info info);
napi_value words_acknowledge(napi_env env, napi_callback_info info);
napi_value words_deadline(napi_env env, napi_callback_info info);
napi_value words_beat(napi_env env, napi_callback_info info);
napi_value words_executions(napi_env env, napi_callback_info info);
napi_value words_hung_up(napi_env env, napi_callback_info info);

#endif
