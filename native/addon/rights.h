/* SPDX-License-Identifier: Apache-2.0 */
/* Privileges of a thread or the process, and identity of the process at the other end of a socket (docs/adr/0019). */
#ifndef ADDON_RIGHTS_H
#define ADDON_RIGHTS_H

#include "node.h"

napi_value drop_privileges(napi_env env, napi_callback_info info);
napi_value forbid_dumps(napi_env env, napi_callback_info info);
napi_value read_peer(napi_env env, napi_callback_info info);

#endif
