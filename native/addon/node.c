/* SPDX-License-Identifier: Apache-2.0 */
/* See node.h. */
#include "node.h"

#include <string.h>
#include <uv.h>

static bool is_exception_pending(napi_env env) {
  bool pending = false;
  return napi_is_exception_pending(env, &pending) == napi_ok && pending;
}

bool ok(napi_env env, napi_status status) {
  if (status == napi_ok) return true;
  if (status != napi_pending_exception && status != napi_cannot_run_js && status != napi_closing) {
    const napi_extended_error_info *info = NULL;
    const char *message = "Node-API call failed";
    if (napi_get_last_error_info(env, &info) == napi_ok && info != NULL && info->error_message != NULL)
      message = info->error_message;
    if (!is_exception_pending(env)) (void)napi_throw_error(env, "ERR_NATIVE", message);
  }
  return false;
}

void throw_type(napi_env env, const char *message) {
  if (!is_exception_pending(env)) (void)napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", message);
}

void throw_range(napi_env env, const char *message) {
  (void)napi_throw_range_error(env, "ERR_OUT_OF_RANGE", message);
}

/* Writes "syscall: CODE, reason". Returns the length; text that does not fit is cut. */
static size_t describe_errno(char *text, size_t size, const char *syscall, const char *code, int number) {
  char reason[128];
  (void)uv_strerror_r(-number, reason, sizeof reason);
  const char *const parts[] = {syscall, ": ", code, ", ", reason};
  size_t at = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t length = strlen(parts[i]);
    if (length > size - 1 - at) length = size - 1 - at;
    memcpy(text + at, parts[i], length);
    at += length;
  }
  return at;
}

void throw_errno(napi_env env, const char *syscall, int number) {
  char code[32];
  char text[192];
  napi_value js_code, js_text, js_errno, js_syscall, error;
  (void)uv_err_name_r(-number, code, sizeof code);
  const size_t length = describe_errno(text, sizeof text, syscall, code, number);
  if (!ok(env, napi_create_string_utf8(env, code, NAPI_AUTO_LENGTH, &js_code)) ||
      !ok(env, napi_create_string_utf8(env, text, length, &js_text)) ||
      !ok(env, napi_create_error(env, js_code, js_text, &error)) ||
      !ok(env, napi_create_int32(env, -number, &js_errno)) ||
      !ok(env, napi_set_named_property(env, error, "errno", js_errno)) ||
      !ok(env, napi_create_string_utf8(env, syscall, NAPI_AUTO_LENGTH, &js_syscall)) ||
      !ok(env, napi_set_named_property(env, error, "syscall", js_syscall)))
    return;
  (void)ok(env, napi_throw(env, error));
}

bool read_arguments(napi_env env, napi_callback_info info, size_t wanted, napi_value *values, napi_value *self) {
  size_t count = wanted;
  if (!ok(env, napi_get_cb_info(env, info, &count, values, self, NULL))) return false;
  if (count < wanted) {
    throw_type(env, "too few arguments");
    return false;
  }
  return true;
}

bool read_int(napi_env env, napi_value value, int *out) {
  int32_t number = 0;
  if (napi_get_value_int32(env, value, &number) != napi_ok) {
    throw_type(env, "expected a number");
    return false;
  }
  *out = number;
  return true;
}

bool require_function(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  if (napi_typeof(env, value, &type) == napi_ok && type == napi_function) return true;
  throw_type(env, "expected a function");
  return false;
}

bool read_bytes(napi_env env, napi_value value, unsigned char **bytes, size_t *length) {
  bool typed = false;
  napi_typedarray_type type = napi_int8_array;
  void *data = NULL;
  if (napi_is_typedarray(env, value, &typed) != napi_ok || !typed ||
      napi_get_typedarray_info(env, value, &type, length, &data, NULL, NULL) != napi_ok || type != napi_uint8_array) {
    throw_type(env, "expected a Uint8Array");
    return false;
  }
  if (data == NULL) *length = 0;
  *bytes = data;
  return true;
}

bool read_doubles(napi_env env, napi_value value, size_t least, double **out) {
  bool typed = false;
  napi_typedarray_type type = napi_int8_array;
  size_t length = 0;
  void *data = NULL;
  if (napi_is_typedarray(env, value, &typed) != napi_ok || !typed ||
      napi_get_typedarray_info(env, value, &type, &length, &data, NULL, NULL) != napi_ok ||
      type != napi_float64_array || length < least || data == NULL) {
    throw_type(env, "expected a Float64Array that is long enough");
    return false;
  }
  *out = data;
  return true;
}

napi_value to_int(napi_env env, int32_t number) {
  napi_value result;
  return ok(env, napi_create_int32(env, number, &result)) ? result : NULL;
}

napi_value to_uint(napi_env env, uint32_t number) {
  napi_value result;
  return ok(env, napi_create_uint32(env, number, &result)) ? result : NULL;
}

napi_value to_ms(napi_env env, uint64_t ns) {
  napi_value result;
  return ok(env, napi_create_double(env, (double)ns / 1e6, &result)) ? result : NULL;
}
