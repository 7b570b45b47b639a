/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that a socket expects, for example the answers of known peers. An expected frame that comes in time does not
 * run JavaScript. The socket drops the frame and notes the time.
 */
#ifndef ADDON_EXPECTED_H
#define ADDON_EXPECTED_H

#include "node.h"

/* expect(number, frame, within): expects frames that begin with these bytes, each within so many ms of the last. */
napi_value socket_expect(napi_env env, napi_callback_info info);

/* expectedAt(number): time of the last expected frame in ms; 0 = none. */
napi_value socket_expected_at(napi_env env, napi_callback_info info);

/* expectNothing(): forgets all expected frames. */
napi_value socket_expect_nothing(napi_env env, napi_callback_info info);

#endif
