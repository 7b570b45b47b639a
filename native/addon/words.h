/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GuardianWords: the engine's side of the memory that it shares with its guardian (common/guardian-words.h). The addon
 * maps it, because JavaScript promises nothing about memory that another process writes.
 */
#ifndef ADDON_WORDS_H
#define ADDON_WORDS_H

#include "node.h"

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
