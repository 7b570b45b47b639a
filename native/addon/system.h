/* SPDX-License-Identifier: Apache-2.0 */
/* System functions that belong to no object: clocks, interfaces, descriptors. */
#ifndef ADDON_SYSTEM_H
#define ADDON_SYSTEM_H

#include "node.h"

napi_value read_clocks(napi_env env, napi_callback_info info);
napi_value find_interface(napi_env env, napi_callback_info info);
napi_value open_stream_pair(napi_env env, napi_callback_info info);
napi_value keep_descriptor_last(napi_env env, napi_callback_info info);
napi_value exit_within(napi_env env, napi_callback_info info);

#endif
