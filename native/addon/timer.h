/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NativeTimer: a handle for a timerfd, whose events come in the order of the sockets' events. The handle has a new
 * timerfd, or watches an inherited timerfd that the guardian sets.
 */
#ifndef ADDON_TIMER_H
#define ADDON_TIMER_H

#include "node.h"

napi_value construct_timer(napi_env env, napi_callback_info info);

/* set(at): fires once, at this CLOCK_MONOTONIC in ms, which may be past; 0 = never. */
napi_value timer_set(napi_env env, napi_callback_info info);

#endif
