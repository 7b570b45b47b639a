/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BeatWatch: publishes the engine's heartbeat and watches the guardian's, both in shared memory. The event loop runs
 * JavaScript if the guardian is silent for too long, if this process itself was late, and at the time that JavaScript
 * has set.
 */
#ifndef ADDON_BEAT_H
#define ADDON_BEAT_H

#include "node.h"

/* new BeatWatch(words) */
napi_value construct_beat_watch(napi_env env, napi_callback_info info);

/* set(patience, within): calls JavaScript after `patience` ms without a beat, and after `within` ms in any case. */
napi_value beat_watch_set(napi_env env, napi_callback_info info);

/* heardAt(): the last moment in ms at which no beat could arrive, because this process did not run; 0 = none. */
napi_value beat_watch_heard_at(napi_env env, napi_callback_info info);

#endif
