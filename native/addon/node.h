/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Node-API as this addon uses it: errors and arguments. A function that returns false or NULL has thrown.
 */
#ifndef ADDON_NODE_H
#define ADDON_NODE_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Checks the result of a Node-API call that fails only if this addon is wrong, or if the environment ends. Throws if it
 * can.
 */
bool ok(napi_env env, napi_status status);

void throw_type(napi_env env, const char *message);
void throw_range(napi_env env, const char *message);

/* Throws an Error as Node makes them: code 'EPERM', errno -1 (negative, for util.getSystemErrorName), syscall. */
void throw_errno(napi_env env, const char *syscall, int number);

bool read_arguments(napi_env env, napi_callback_info info, size_t wanted, napi_value *values, napi_value *self);
bool read_int(napi_env env, napi_value value, int *out);
bool require_function(napi_env env, napi_value value);

/*
 * Reads the bytes of a value. The bytes stay valid while the value is alive and no JavaScript runs (which could detach
 * its buffer).
 */
bool read_bytes(napi_env env, napi_value value, unsigned char **bytes, size_t *length);

/* Reads a Float64Array of at least `least` numbers. */
bool read_doubles(napi_env env, napi_value value, size_t least, double **out);

/* Return NULL after they have thrown. */
napi_value to_int(napi_env env, int32_t number);
napi_value to_uint(napi_env env, uint32_t number);
napi_value to_ms(napi_env env, uint64_t ns);

#endif
