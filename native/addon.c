/*
 * Sockets for the engine: open, set an option, bind, filter, drain, send; and the memory that it shares with its
 * guardian (guardian-words.h), because JavaScript promises nothing about memory that another process writes; and what a
 * thread or the process may do (docs/adr/0019).
 * One generic class carries raw IPv4, raw IPv6, AF_PACKET, AF_NETLINK and the streams of health checks; every number that means something to a protocol comes from TypeScript.
 * A second one watches a process: what a pidfd reports is that it is readable, so it shares the first one's watcher.
 * Decided here: nothing that the kernel reports may end or stall the process. A poll error is read, reported and the
 * watcher goes on; a receive or send error is a negative errno in the result, never an exception.
 * Refuses to know: VRRP, ARP, Neighbor Discovery, rtnetlink, and what a packet is worth.
 *
 * Lifetime: a socket is owned by its JavaScript object and, once start() was called, by its libuv handles as well. The
 * libuv handles close asynchronously, so an async cleanup hook keeps the environment (and, in a worker, this library)
 * loaded until they are gone: with a plain hook the close callback would run in unmapped memory.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <node_api.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "guardian-words.h"

/* Below what every shell allows. */
#define LAST_DESCRIPTOR 1024u

/* One metadata record per packet; src/linux/native.ts documents the same offsets. */
#define META_SIZE 128u
#define META_LENGTH 0
#define META_FLAGS 4
#define META_TTL 8
#define META_IFINDEX 12
#define META_REALTIME 16
#define META_OVERFLOW 24
#define META_DESTINATION 32
#define META_SOURCE_LENGTH 48
#define META_SOURCE 52
#define META_SOURCE_MAX 28u
#define META_PKTTYPE 80
#define META_VLAN 84
#define FLAG_TRUNCATED 1u
#define FLAG_CONTROL_TRUNCATED 2u

#define MAX_BATCH 1024u /* the kernel's UIO_MAXIOV: one recvmmsg or sendmmsg takes no more */
#define MAX_PACKET (1u << 20)
#define MAX_DATA (256u << 20)
#define MAX_MESSAGES (1u << 16)
#define MAX_OPTION 4096u
#define CONTROL_SIZE 256u /* TTL, packet info, timestamp and overflow counter need 120 */
#define QUIET_ERRORS_MAX 8u /* poll errors in a row without a reason to read: after these ... */
#define QUIET_ERROR_MS 10u /* ... look again later instead of spinning */
#define ERROR_QUEUE_MAX 64

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SO_TIMESTAMPNS_NEW
#define SO_TIMESTAMPNS_NEW 64
#endif

static const napi_type_tag socket_tag = {0x6f1d9c6a2b7e4f03ull, 0x9a5c3e8d417fb260ull};
static const napi_type_tag words_tag = {0x2c9be1704d5a4c86ull, 0x8e13f7a6905b42d1ull};

struct sock {
  unsigned references; /* the JavaScript object, and the libuv handles while one of them is not closed yet */
  napi_env env;
  int fd;
  unsigned batch;
  unsigned size;
  napi_ref wrapper; /* weak; strong between start() and stop(), so that a running socket is not collected */
  napi_ref meta;
  napi_ref data;
  napi_ref on_readable;
  napi_ref on_error;
  napi_ref on_writable; /* until it was called: once */
  struct mmsghdr *messages;
  struct iovec *vectors;
  struct sockaddr_storage *names;
  unsigned char *control;
  unsigned used; /* headers that the last recvmmsg wrote and the next one must find reset */
  bool watching; /* between start() and stop() */
  bool handles; /* poll and timer are initialised and not being closed */
  bool timer; /* a timerfd: what makes it readable is read here */
  unsigned open_handles; /* initialised, and their close callback has not run */
  unsigned quiet_errors; /* poll errors in a row that came without a reason */
  napi_async_cleanup_hook_handle hook;
  uv_poll_t poll;
  uv_timer_t retry;
};

static void on_retry(uv_timer_t *timer);
static void on_poll(uv_poll_t *poll, int status, int events);

/* ---- errors ---- */

static void throw_plain(napi_env env, const char *code, const char *message) {
  bool pending = false;
  if (napi_is_exception_pending(env, &pending) == napi_ok && pending) return;
  (void)napi_throw_error(env, code, message);
}

/* For calls of Node-API that fail only when something is wrong with us or the environment is going away. */
static bool ok(napi_env env, napi_status status) {
  if (status == napi_ok) return true;
  if (status != napi_pending_exception && status != napi_cannot_run_js && status != napi_closing) {
    const napi_extended_error_info *info = NULL;
    const char *message = "Node-API call failed";
    if (napi_get_last_error_info(env, &info) == napi_ok && info != NULL && info->error_message != NULL)
      message = info->error_message;
    throw_plain(env, "ERR_NATIVE", message);
  }
  return false;
}

static void throw_type(napi_env env, const char *message) {
  bool pending = false;
  if (napi_is_exception_pending(env, &pending) == napi_ok && pending) return;
  (void)napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", message);
}

/* An Error as Node makes them: code 'EPERM', errno -1 (negative, as util.getSystemErrorName wants it), syscall. */
static void throw_errno(napi_env env, const char *syscall, int number) {
  char code[32];
  char reason[128];
  char text[192];
  napi_value js_code, js_text, js_errno, js_syscall, error;
  (void)uv_err_name_r(-number, code, sizeof code);
  (void)uv_strerror_r(-number, reason, sizeof reason);
  size_t at = 0;
  const char *const parts[] = {syscall, ": ", code, ", ", reason};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t length = strlen(parts[i]);
    if (length > sizeof text - 1 - at) length = sizeof text - 1 - at;
    memcpy(text + at, parts[i], length);
    at += length;
  }
  if (!ok(env, napi_create_string_utf8(env, code, NAPI_AUTO_LENGTH, &js_code)) ||
      !ok(env, napi_create_string_utf8(env, text, at, &js_text)) ||
      !ok(env, napi_create_error(env, js_code, js_text, &error)) ||
      !ok(env, napi_create_int32(env, -number, &js_errno)) ||
      !ok(env, napi_set_named_property(env, error, "errno", js_errno)) ||
      !ok(env, napi_create_string_utf8(env, syscall, NAPI_AUTO_LENGTH, &js_syscall)) ||
      !ok(env, napi_set_named_property(env, error, "syscall", js_syscall)))
    return;
  (void)ok(env, napi_throw(env, error));
}

/* ---- arguments ---- */

static bool arguments(napi_env env, napi_callback_info info, size_t wanted, napi_value *values, napi_value *self) {
  size_t count = wanted;
  if (!ok(env, napi_get_cb_info(env, info, &count, values, self, NULL))) return false;
  if (count < wanted) {
    throw_type(env, "too few arguments");
    return false;
  }
  return true;
}

static bool int_argument(napi_env env, napi_value value, int *out) {
  int32_t number = 0;
  if (napi_get_value_int32(env, value, &number) != napi_ok) {
    throw_type(env, "expected a number");
    return false;
  }
  *out = number;
  return true;
}

/* The bytes stay valid for as long as the value is alive and no JavaScript runs (which could detach its buffer). */
static bool bytes_argument(napi_env env, napi_value value, unsigned char **bytes, size_t *length) {
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

static struct sock *unwrap(napi_env env, napi_value self) {
  bool ours = false;
  void *pointer = NULL;
  if (napi_check_object_type_tag(env, self, &socket_tag, &ours) != napi_ok || !ours ||
      napi_unwrap(env, self, &pointer) != napi_ok) {
    throw_type(env, "not a NativeSocket");
    return NULL;
  }
  return pointer;
}

/* ---- lifetime ---- */

static void release(struct sock *s) {
  if (--s->references > 0) return;
  if (s->fd >= 0) (void)close(s->fd);
  free(s->messages);
  free(s->vectors);
  free(s->names);
  free(s->control);
  free(s);
}

static void drop_reference(napi_env env, napi_ref *reference) {
  if (*reference != NULL) (void)napi_delete_reference(env, *reference);
  *reference = NULL;
}

/* libuv runs close callbacks in any order: the last one lets the environment go. */
static void on_handle_closed(uv_handle_t *handle) {
  struct sock *s = handle->data;
  if (--s->open_handles > 0) return;
  (void)napi_remove_async_cleanup_hook(s->hook);
  s->hook = NULL;
  release(s);
}

static void pause_watch(struct sock *s) {
  if (!s->watching) return;
  s->watching = false;
  (void)uv_poll_stop(&s->poll);
  (void)uv_timer_stop(&s->retry);
  drop_reference(s->env, &s->on_readable);
  drop_reference(s->env, &s->on_error);
  drop_reference(s->env, &s->on_writable);
  if (s->wrapper != NULL) (void)napi_reference_unref(s->env, s->wrapper, NULL);
}

/* Idempotent. The descriptor goes at once: libuv allows that after uv_poll_stop. */
static void shut(struct sock *s) {
  pause_watch(s);
  if (s->handles) {
    s->handles = false;
    uv_close((uv_handle_t *)&s->poll, on_handle_closed);
    uv_close((uv_handle_t *)&s->retry, on_handle_closed);
  }
  if (s->fd >= 0) {
    (void)close(s->fd);
    s->fd = -1;
  }
}

/* The environment ends. When the handles are closing already, their callback removes the hook. */
static void on_environment_end(napi_async_cleanup_hook_handle hook, void *argument) {
  (void)hook;
  shut(argument);
}

static void on_collected(napi_env env, void *pointer, void *hint) {
  struct sock *s = pointer;
  (void)hint;
  shut(s);
  drop_reference(env, &s->meta);
  drop_reference(env, &s->data);
  drop_reference(env, &s->wrapper);
  release(s);
}

/* ---- construction ---- */

static bool allocate(struct sock *s) {
  s->messages = calloc(s->batch, sizeof *s->messages);
  s->vectors = calloc(s->batch, sizeof *s->vectors);
  s->names = calloc(s->batch, sizeof *s->names);
  s->control = calloc(s->batch, CONTROL_SIZE);
  s->used = s->batch;
  return s->messages != NULL && s->vectors != NULL && s->names != NULL && s->control != NULL;
}

/* A Uint8Array of ours, kept alive by `reference` and visible as a read-only property. */
static bool attach_array(napi_env env, napi_value self, const char *name, size_t length, napi_ref *reference) {
  napi_value buffer, array;
  void *data = NULL;
  if (!ok(env, napi_create_arraybuffer(env, length, &data, &buffer)) ||
      !ok(env, napi_create_typedarray(env, napi_uint8_array, length, buffer, 0, &array)) ||
      !ok(env, napi_create_reference(env, array, 1, reference)))
    return false;
  const napi_property_descriptor property = {name, NULL, NULL, NULL, NULL, array, napi_enumerable, NULL};
  return ok(env, napi_define_properties(env, self, 1, &property));
}

static bool called_with_new(napi_env env, napi_callback_info info) {
  napi_value target = NULL;
  if (!ok(env, napi_get_new_target(env, info, &target))) return false;
  if (target == NULL) throw_type(env, "needs new");
  return target != NULL;
}

/* Without a descriptor yet. */
static struct sock *fresh(napi_env env, const char *syscall_name, unsigned batch, unsigned size) {
  struct sock *s = calloc(1, sizeof *s);
  if (s != NULL) {
    s->references = 1;
    s->env = env;
    s->fd = -1;
    s->batch = batch;
    s->size = size;
    if (allocate(s)) return s;
    release(s);
  }
  throw_errno(env, syscall_name, ENOMEM);
  return NULL;
}

/* With the descriptor, or the errno of what failed. Then the finalizer owns s, also when a later step throws. */
static bool adopt(napi_env env, napi_value self, struct sock *s, const char *syscall_name, int fd, int failure) {
  s->fd = fd;
  if (fd < 0) {
    release(s);
    throw_errno(env, syscall_name, failure);
    return false;
  }
  if (!ok(env, napi_wrap(env, self, s, on_collected, NULL, &s->wrapper))) {
    release(s);
    return false;
  }
  if (ok(env, napi_type_tag_object(env, self, &socket_tag))) return true;
  shut(s);
  return false;
}

/* ProcessEnd: start() and close() of the class below, for the pidfd of a process. */
static napi_value construct_process_end(napi_env env, napi_callback_info info) {
  napi_value value, self;
  int pid = 0;
  if (!called_with_new(env, info) || !arguments(env, info, 1, &value, &self) || !int_argument(env, value, &pid))
    return NULL;
  struct sock *s = fresh(env, "pidfd_open", 1, 1);
  if (s == NULL) return NULL;
  /* Close-on-exec by itself. */
  const int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
  return adopt(env, self, s, "pidfd_open", fd, errno) ? self : NULL;
}

/* ChannelEnd: the same for a descriptor that is ours already, and this object's from here on. */
static napi_value construct_channel_end(napi_env env, napi_callback_info info) {
  napi_value value, self;
  int fd = -1;
  if (!called_with_new(env, info) || !arguments(env, info, 1, &value, &self) || !int_argument(env, value, &fd))
    return NULL;
  struct sock *s = fresh(env, "fcntl", 1, 1);
  if (s == NULL) return NULL;
  const bool open = fcntl(fd, F_GETFD) >= 0;
  return adopt(env, self, s, "fcntl", open ? fd : -1, errno) ? self : NULL;
}

/* NativeTimer: the same and set(), for a timerfd. */
static napi_value construct_timer(napi_env env, napi_callback_info info) {
  napi_value self;
  if (!called_with_new(env, info) || !arguments(env, info, 0, NULL, &self)) return NULL;
  struct sock *s = fresh(env, "timerfd_create", 1, 1);
  if (s == NULL) return NULL;
  s->timer = true;
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  return adopt(env, self, s, "timerfd_create", fd, errno) ? self : NULL;
}

static napi_value construct(napi_env env, napi_callback_info info) {
  napi_value values[5], self;
  int number[5] = {0};
  if (!called_with_new(env, info)) return NULL;
  if (!arguments(env, info, 5, values, &self)) return NULL;
  for (int i = 0; i < 5; i++)
    if (!int_argument(env, values[i], &number[i])) return NULL;
  if (number[3] < 1 || (unsigned)number[3] > MAX_BATCH || number[4] < 1 || (unsigned)number[4] > MAX_PACKET ||
      (uint64_t)number[3] * (uint64_t)number[4] > MAX_DATA) {
    (void)napi_throw_range_error(env, "ERR_OUT_OF_RANGE", "batch is 1 to 1024, size 1 to 1048576, together 256 MiB");
    return NULL;
  }

  struct sock *s = fresh(env, "socket", (unsigned)number[3], (unsigned)number[4]);
  if (s == NULL) return NULL;
  const int fd = socket(number[0], number[1] | SOCK_CLOEXEC | SOCK_NONBLOCK, number[2]);
  if (!adopt(env, self, s, "socket", fd, errno)) return NULL;
  if (!attach_array(env, self, "meta", (size_t)s->batch * META_SIZE, &s->meta) ||
      !attach_array(env, self, "data", (size_t)s->batch * s->size, &s->data)) {
    shut(s);
    return NULL;
  }
  return self;
}

/* ---- plain calls ---- */

static napi_value set_option(napi_env env, napi_callback_info info) {
  napi_value values[3], self;
  int level = 0, name = 0;
  unsigned char *bytes = NULL;
  size_t length = 0;
  if (!arguments(env, info, 3, values, &self)) return NULL;
  struct sock *s = unwrap(env, self);
  if (s == NULL || !int_argument(env, values[0], &level) || !int_argument(env, values[1], &name) ||
      !bytes_argument(env, values[2], &bytes, &length))
    return NULL;
  if (length > MAX_OPTION)
    throw_errno(env, "setsockopt", EINVAL);
  else if (setsockopt(s->fd, level, name, bytes, (socklen_t)length) != 0)
    throw_errno(env, "setsockopt", errno);
  return NULL;
}

/* The only argument of bind() and connect(), and whose it is; NULL when something was thrown. */
static struct sock *with_sockaddr(napi_env env, napi_callback_info info, const char *syscall_name,
                                  struct sockaddr_storage *address, size_t *length) {
  napi_value value, self;
  unsigned char *bytes = NULL;
  *length = 0;
  if (!arguments(env, info, 1, &value, &self)) return NULL;
  struct sock *s = unwrap(env, self);
  if (s == NULL || !bytes_argument(env, value, &bytes, length)) return NULL;
  if (*length == 0 || *length > sizeof *address) {
    throw_errno(env, syscall_name, EINVAL);
    return NULL;
  }
  memset(address, 0, sizeof *address);
  memcpy(address, bytes, *length);
  return s;
}

static napi_value bind_socket(napi_env env, napi_callback_info info) {
  struct sockaddr_storage address;
  size_t length;
  struct sock *s = with_sockaddr(env, info, "bind", &address, &length);
  if (s == NULL) return NULL;
  if (bind(s->fd, (const struct sockaddr *)&address, (socklen_t)length) != 0) throw_errno(env, "bind", errno);
  return NULL;
}

/* What the network says to it is a result: 0, or a negative errno, -EINPROGRESS among them. */
static napi_value connect_socket(napi_env env, napi_callback_info info) {
  struct sockaddr_storage address;
  size_t length;
  napi_value result;
  struct sock *s = with_sockaddr(env, info, "connect", &address, &length);
  if (s == NULL) return NULL;
  const int failed = connect(s->fd, (const struct sockaddr *)&address, (socklen_t)length);
  return ok(env, napi_create_int32(env, failed == 0 ? 0 : -errno, &result)) ? result : NULL;
}

static napi_value attach_filter(napi_env env, napi_callback_info info) {
  napi_value values[1], self;
  unsigned char *bytes = NULL;
  size_t length = 0;
  if (!arguments(env, info, 1, values, &self)) return NULL;
  struct sock *s = unwrap(env, self);
  if (s == NULL || !bytes_argument(env, values[0], &bytes, &length)) return NULL;
  if (length == 0 || length % sizeof(struct sock_filter) != 0 || length / sizeof(struct sock_filter) > BPF_MAXINSNS) {
    throw_errno(env, "setsockopt", EINVAL);
    return NULL;
  }
  struct sock_filter *instructions = malloc(length); /* a copy, because the array may start at an odd address */
  if (instructions == NULL) {
    throw_errno(env, "setsockopt", ENOMEM);
    return NULL;
  }
  memcpy(instructions, bytes, length);
  const struct sock_fprog program = {(unsigned short)(length / sizeof *instructions), instructions};
  if (setsockopt(s->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
    throw_errno(env, "setsockopt", errno);
  free(instructions);
  return NULL;
}

static napi_value close_socket(napi_env env, napi_callback_info info) {
  napi_value self;
  if (!arguments(env, info, 0, NULL, &self)) return NULL;
  struct sock *s = unwrap(env, self);
  if (s != NULL) shut(s);
  return NULL;
}

/* ---- watching ---- */

/* Runs a callback of JavaScript from the event loop. What it throws belongs to 'uncaughtException'. */
static void call(struct sock *s, napi_ref callback, bool with_number, int number) {
  napi_env env = s->env;
  napi_handle_scope scope;
  if (callback == NULL || napi_open_handle_scope(env, &scope) != napi_ok) return;
  napi_value function, receiver, argument = NULL, result;
  if (napi_get_reference_value(env, callback, &function) == napi_ok && function != NULL &&
      napi_get_global(env, &receiver) == napi_ok &&
      (!with_number || napi_create_int32(env, number, &argument) == napi_ok) &&
      napi_make_callback(env, NULL, receiver, function, with_number ? 1 : 0, &argument, &result) ==
          napi_pending_exception) {
    napi_value error;
    if (napi_get_and_clear_last_exception(env, &error) == napi_ok) (void)napi_fatal_exception(env, error);
  }
  (void)napi_close_handle_scope(env, scope);
}

/*
 * Reads what made poll report an error; 0 when nothing tells (receive() was faster). An error queue that is not emptied
 * would report for ever.
 */
static int take_error(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  for (int i = 0; i < ERROR_QUEUE_MAX; i++) {
    unsigned char byte;
    struct iovec vector = {&byte, sizeof byte};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
  }
  return error;
}

static void watch_later(struct sock *s) { (void)uv_timer_start(&s->retry, on_retry, QUIET_ERROR_MS, 0); }

static int poll_start(struct sock *s) {
  return uv_poll_start(&s->poll, s->on_writable == NULL ? UV_READABLE : UV_READABLE | UV_WRITABLE, on_poll);
}

static void watch(struct sock *s) {
  if (poll_start(s) != 0) watch_later(s);
}

static void on_retry(uv_timer_t *timer) {
  struct sock *s = timer->data;
  if (s->watching) watch(s);
}

static void on_poll(uv_poll_t *poll, int status, int events) {
  struct sock *s = poll->data;
  if (!s->watching) return;
  if (status >= 0) {
    s->quiet_errors = 0;
    if ((events & UV_WRITABLE) != 0 && s->on_writable != NULL) {
      /* Ours from here on: the callback may close the socket, or start it anew. */
      napi_ref once = s->on_writable;
      s->on_writable = NULL;
      watch(s);
      call(s, once, false, 0);
      drop_reference(s->env, &once);
    }
    uint64_t ticks;
    if ((events & UV_READABLE) == 0 || !s->watching) return;
    /* Set anew since it was found readable: there is nothing to read, and it is not due. */
    if (s->timer && read(s->fd, &ticks, sizeof ticks) != (ssize_t)sizeof ticks) return;
    /* Until it is set anew there is nothing to wait for. */
    if (s->timer) uv_unref((uv_handle_t *)&s->poll);
    call(s, s->on_readable, false, 0);
    return;
  }
  /* libuv has stopped the watcher. Go on first: the callback may close the socket. */
  const int error = take_error(s->fd);
  s->quiet_errors = error != 0 ? 0 : s->quiet_errors + 1;
  if (s->quiet_errors < QUIET_ERRORS_MAX)
    watch(s);
  else
    watch_later(s);
  if (error != 0) call(s, s->on_error, true, error);
}

/* Makes the libuv handles; they live until close(). */
static bool make_handles(napi_env env, struct sock *s) {
  uv_loop_t *loop = NULL;
  if (s->handles) return true;
  if (s->fd < 0) {
    throw_errno(env, "epoll_ctl", EBADF);
    return false;
  }
  if (!ok(env, napi_get_uv_event_loop(env, &loop))) return false;
  if (!ok(env, napi_add_async_cleanup_hook(env, on_environment_end, s, &s->hook))) return false;
  const int status = uv_poll_init(loop, &s->poll, s->fd);
  if (status != 0) { /* nothing was registered with the loop yet */
    (void)napi_remove_async_cleanup_hook(s->hook);
    s->hook = NULL;
    throw_errno(env, "epoll_ctl", -status);
    return false;
  }
  (void)uv_timer_init(loop, &s->retry); /* cannot fail */
  s->poll.data = s;
  s->retry.data = s;
  s->references++;
  s->open_handles = 2;
  s->handles = true;
  return true;
}

static bool function_argument(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  if (napi_typeof(env, value, &type) == napi_ok && type == napi_function) return true;
  throw_type(env, "expected a function");
  return false;
}

static napi_value start(napi_env env, napi_callback_info info) {
  napi_value values[3], self;
  size_t given = 3;
  napi_valuetype third = napi_undefined;
  if (!ok(env, napi_get_cb_info(env, info, &given, values, &self, NULL))) return NULL;
  if (given < 2) {
    throw_type(env, "too few arguments");
    return NULL;
  }
  struct sock *s = unwrap(env, self);
  if (s == NULL || !function_argument(env, values[0]) || !function_argument(env, values[1])) return NULL;
  if (given > 2 && !ok(env, napi_typeof(env, values[2], &third))) return NULL;
  if (third != napi_undefined && !function_argument(env, values[2])) return NULL;
  if (!make_handles(env, s)) return NULL;
  pause_watch(s);
  if (!ok(env, napi_create_reference(env, values[0], 1, &s->on_readable))) return NULL;
  if (!ok(env, napi_create_reference(env, values[1], 1, &s->on_error)) ||
      (third != napi_undefined && !ok(env, napi_create_reference(env, values[2], 1, &s->on_writable))) ||
      !ok(env, napi_reference_ref(env, s->wrapper, NULL))) {
    drop_reference(env, &s->on_readable);
    drop_reference(env, &s->on_error);
    drop_reference(env, &s->on_writable);
    return NULL;
  }
  s->watching = true;
  const int status = poll_start(s);
  if (status != 0) {
    pause_watch(s);
    throw_errno(env, "epoll_ctl", -status);
  }
  /* set() says whether there is anything to wait for. */
  if (s->timer) uv_unref((uv_handle_t *)&s->poll);
  return NULL;
}

/* Of a NativeTimer: once, at this CLOCK_MONOTONIC in ms, a moment of the past included; 0 = not at all. */
static napi_value set_timer(napi_env env, napi_callback_info info) {
  napi_value value, self;
  double at = 0;
  if (!arguments(env, info, 1, &value, &self)) return NULL;
  struct sock *s = unwrap(env, self);
  if (s == NULL) return NULL;
  if (napi_get_value_double(env, value, &at) != napi_ok || !(at >= 0 && at < 9e12)) {
    throw_type(env, "expected a moment in ms");
    return NULL;
  }
  /* Half a microsecond later: what was rounded on its way here must not be early by that. */
  const int64_t ns = at > 0 ? (int64_t)(at * 1e6) + 500 : 0;
  const struct itimerspec moment = {.it_value = {ns / 1000000000, ns % 1000000000}};
  if (timerfd_settime(s->fd, TFD_TIMER_ABSTIME, &moment, NULL) != 0) {
    throw_errno(env, "timerfd_settime", errno);
  } else if (s->handles) {
    if (ns > 0)
      uv_ref((uv_handle_t *)&s->poll);
    else
      uv_unref((uv_handle_t *)&s->poll);
  }
  return NULL;
}

static napi_value stop(napi_env env, napi_callback_info info) {
  napi_value self;
  if (!arguments(env, info, 0, NULL, &self)) return NULL;
  struct sock *s = unwrap(env, self);
  if (s != NULL) pause_watch(s);
  return NULL;
}

/* ---- receiving ---- */

static void put(unsigned char *record, size_t offset, const void *value, size_t length) {
  memcpy(record + offset, value, length);
}

static void read_control(struct msghdr *header, unsigned char *record) {
  for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
    const unsigned char *value = CMSG_DATA(c);
    const size_t length = c->cmsg_len - CMSG_LEN(0);
    if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL && length >= sizeof(int)) ||
        (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT && length >= sizeof(int))) {
      put(record, META_TTL, value, sizeof(int32_t));
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO && length >= sizeof(struct in_pktinfo)) {
      struct in_pktinfo packet;
      memcpy(&packet, value, sizeof packet);
      const uint32_t index = (uint32_t)packet.ipi_ifindex;
      put(record, META_IFINDEX, &index, sizeof index);
      put(record, META_DESTINATION, &packet.ipi_addr, sizeof packet.ipi_addr);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO && length >= sizeof(struct in6_pktinfo)) {
      struct in6_pktinfo packet;
      memcpy(&packet, value, sizeof packet);
      const uint32_t index = packet.ipi6_ifindex;
      put(record, META_IFINDEX, &index, sizeof index);
      put(record, META_DESTINATION, &packet.ipi6_addr, sizeof packet.ipi6_addr);
    } else if (c->cmsg_level == SOL_SOCKET && (c->cmsg_type == SO_TIMESTAMPNS || c->cmsg_type == SO_TIMESTAMPNS_NEW) &&
               length >= 2 * sizeof(int64_t)) {
      int64_t stamp[2];
      memcpy(stamp, value, sizeof stamp);
      const double ms = (double)stamp[0] * 1e3 + (double)stamp[1] / 1e6;
      put(record, META_REALTIME, &ms, sizeof ms);
    } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL && length >= sizeof(uint32_t)) {
      put(record, META_OVERFLOW, value, sizeof(uint32_t));
    } else if (c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA && length >= sizeof(struct tpacket_auxdata)) {
      struct tpacket_auxdata aux;
      memcpy(&aux, value, sizeof aux);
      if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0) continue;
      const uint32_t protocol = (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? aux.tp_vlan_tpid : ETH_P_8021Q;
      const uint32_t tag = protocol << 16 | aux.tp_vlan_tci;
      put(record, META_VLAN, &tag, sizeof tag);
    }
  }
}

static void describe(struct mmsghdr *message, unsigned char *record) {
  struct msghdr *header = &message->msg_hdr;
  const uint32_t length = message->msg_len;
  const int32_t unknown = -1;
  uint32_t flags = 0;
  if ((header->msg_flags & MSG_TRUNC) != 0) flags |= FLAG_TRUNCATED;
  if ((header->msg_flags & MSG_CTRUNC) != 0) flags |= FLAG_CONTROL_TRUNCATED;
  memset(record, 0, META_SIZE);
  put(record, META_LENGTH, &length, sizeof length);
  put(record, META_FLAGS, &flags, sizeof flags);
  put(record, META_TTL, &unknown, sizeof unknown);
  uint32_t source = header->msg_namelen;
  if (source > META_SOURCE_MAX) source = META_SOURCE_MAX;
  put(record, META_SOURCE_LENGTH, &source, sizeof source);
  put(record, META_SOURCE, header->msg_name, source);
  const struct sockaddr_storage *name = header->msg_name;
  if (header->msg_namelen >= offsetof(struct sockaddr_ll, sll_addr) && name->ss_family == AF_PACKET) {
    struct sockaddr_ll link;
    memcpy(&link, name, sizeof link);
    const uint32_t index = (uint32_t)link.sll_ifindex;
    put(record, META_IFINDEX, &index, sizeof index);
    put(record, META_PKTTYPE, &link.sll_pkttype, sizeof link.sll_pkttype);
  }
  read_control(header, record);
}

/* The array of ours as memory; NULL when JavaScript detached it (transferred it to another thread). */
static unsigned char *own_bytes(napi_env env, napi_ref reference, size_t wanted) {
  napi_value value;
  unsigned char *bytes = NULL;
  size_t length = 0;
  if (reference == NULL || !ok(env, napi_get_reference_value(env, reference, &value)) || value == NULL ||
      !bytes_argument(env, value, &bytes, &length))
    return NULL;
  if (bytes == NULL || length != wanted) {
    throw_type(env, "meta or data of this socket was detached");
    return NULL;
  }
  return bytes;
}

static napi_value receive(napi_env env, napi_callback_info info) {
  napi_value self, result;
  if (!arguments(env, info, 0, NULL, &self)) return NULL;
  struct sock *s = unwrap(env, self);
  if (s == NULL) return NULL;
  unsigned char *meta = own_bytes(env, s->meta, (size_t)s->batch * META_SIZE);
  unsigned char *data = meta == NULL ? NULL : own_bytes(env, s->data, (size_t)s->batch * s->size);
  if (data == NULL) return NULL;
  for (unsigned i = 0; i < s->used; i++) {
    struct msghdr *header = &s->messages[i].msg_hdr;
    s->vectors[i].iov_base = data + (size_t)i * s->size;
    s->vectors[i].iov_len = s->size;
    header->msg_name = &s->names[i];
    header->msg_namelen = sizeof s->names[i];
    header->msg_iov = &s->vectors[i];
    header->msg_iovlen = 1;
    header->msg_control = s->control + (size_t)i * CONTROL_SIZE;
    header->msg_controllen = CONTROL_SIZE;
    header->msg_flags = 0;
  }
  int count;
  do {
    count = recvmmsg(s->fd, s->messages, s->batch, MSG_DONTWAIT, NULL);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    count = errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
    s->used = 1; /* a failed receive may still have touched the first header */
  } else {
    s->used = count == 0 ? 1 : (unsigned)count;
    for (int i = 0; i < count; i++) describe(&s->messages[i], meta + (size_t)i * META_SIZE);
  }
  return ok(env, napi_create_int32(env, count, &result)) ? result : NULL;
}

/* ---- sending ---- */

/* What an advertisement or a question is: it needs no memory. */
#define FEW_MESSAGES 4u

struct outgoing {
  struct mmsghdr *messages;
  struct iovec *vectors;
  struct sockaddr_storage *names;
  napi_value *values; /* messages, then addresses: fetched before any pointer is taken, because a getter may run code */
  int32_t *results;
};

struct few {
  struct mmsghdr messages[FEW_MESSAGES];
  struct iovec vectors[FEW_MESSAGES];
  struct sockaddr_storage names[FEW_MESSAGES];
  napi_value values[2 * FEW_MESSAGES];
  int32_t results[FEW_MESSAGES];
};

static bool reserve(struct outgoing *out, struct few *few, size_t count, bool addressed) {
  if (count <= FEW_MESSAGES) {
    memset(few->messages, 0, count * sizeof *few->messages);
    memset(few->names, 0, count * sizeof *few->names);
    *out = (struct outgoing){few->messages, few->vectors, addressed ? few->names : NULL, few->values, few->results};
    return true;
  }
  out->messages = calloc(count, sizeof *out->messages);
  out->vectors = calloc(count, sizeof *out->vectors);
  out->names = addressed ? calloc(count, sizeof *out->names) : NULL;
  out->values = calloc(2 * count, sizeof(napi_value));
  out->results = calloc(count, sizeof *out->results);
  return out->messages != NULL && out->vectors != NULL && (out->names != NULL || !addressed) && out->values != NULL &&
         out->results != NULL;
}

static void discard(struct outgoing *out, const struct few *few) {
  if (out->messages == few->messages) return;
  free(out->messages);
  free(out->vectors);
  free(out->names);
  free(out->values);
  free(out->results);
}

static bool fill(napi_env env, struct outgoing *out, uint32_t count, napi_value messages, napi_value addresses) {
  const bool addressed = out->names != NULL;
  for (uint32_t i = 0; i < count; i++) {
    if (!ok(env, napi_get_element(env, messages, i, &out->values[i]))) return false;
    if (addressed && !ok(env, napi_get_element(env, addresses, i, &out->values[count + i]))) return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    unsigned char *bytes = NULL;
    size_t length = 0;
    if (!bytes_argument(env, out->values[i], &bytes, &length)) return false;
    struct msghdr *header = &out->messages[i].msg_hdr;
    out->vectors[i].iov_base = bytes;
    out->vectors[i].iov_len = length;
    header->msg_iov = &out->vectors[i];
    header->msg_iovlen = 1;
    if (!addressed) continue;
    if (!bytes_argument(env, out->values[count + i], &bytes, &length)) return false;
    if (length > sizeof out->names[i]) {
      throw_type(env, "socket address is too long");
      return false;
    }
    if (length > 0) memcpy(&out->names[i], bytes, length);
    header->msg_name = length > 0 ? &out->names[i] : NULL;
    header->msg_namelen = (socklen_t)length;
  }
  return true;
}

/* One result per message. sendmmsg stops at the first that fails: note its errno, go on behind it. */
static void transmit(int fd, struct mmsghdr *messages, uint32_t count, int32_t *results) {
  uint32_t done = 0;
  while (done < count) {
    const uint32_t left = count - done;
    const int sent = sendmmsg(fd, messages + done, left > MAX_BATCH ? MAX_BATCH : left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) {
      results[done++] = sent < 0 ? -errno : -EIO;
      continue;
    }
    for (int i = 0; i < sent; i++, done++) results[done] = (int32_t)messages[done].msg_len;
  }
}

/* undefined when all were sent whole, which is nearly always and needs no array; otherwise one result per message. */
static napi_value outcome(napi_env env, const struct outgoing *out, uint32_t count) {
  bool whole = true;
  for (uint32_t i = 0; i < count && whole; i++)
    whole = out->results[i] >= 0 && (size_t)out->results[i] == out->vectors[i].iov_len;
  if (whole) return NULL;
  napi_value buffer, result;
  void *results = NULL;
  if (!ok(env, napi_create_arraybuffer(env, count * sizeof(int32_t), &results, &buffer)) ||
      !ok(env, napi_create_typedarray(env, napi_int32_array, count, buffer, 0, &result)))
    return NULL;
  memcpy(results, out->results, count * sizeof(int32_t));
  return result;
}

static napi_value send_messages(napi_env env, napi_callback_info info) {
  napi_value values[2] = {NULL, NULL}, self, result = NULL;
  size_t given = 2;
  napi_valuetype type = napi_undefined;
  bool list = false;
  uint32_t count = 0, addresses = 0;
  if (!ok(env, napi_get_cb_info(env, info, &given, values, &self, NULL))) return NULL;
  struct sock *s = unwrap(env, self);
  if (s == NULL) return NULL;
  if (given < 1 || napi_is_array(env, values[0], &list) != napi_ok || !list) {
    throw_type(env, "expected an array of messages");
    return NULL;
  }
  if (!ok(env, napi_get_array_length(env, values[0], &count))) return NULL;
  if (given > 1 && !ok(env, napi_typeof(env, values[1], &type))) return NULL;
  const bool addressed = type != napi_undefined;
  if (addressed && (napi_is_array(env, values[1], &list) != napi_ok || !list ||
                    napi_get_array_length(env, values[1], &addresses) != napi_ok || addresses != count)) {
    throw_type(env, "expected one socket address per message, or none at all");
    return NULL;
  }
  if (count > MAX_MESSAGES) {
    (void)napi_throw_range_error(env, "ERR_OUT_OF_RANGE", "too many messages in one call");
    return NULL;
  }
  if (count == 0) return NULL;
  struct outgoing out = {NULL, NULL, NULL, NULL, NULL};
  struct few few;
  if (!reserve(&out, &few, count, addressed)) {
    throw_errno(env, "sendmmsg", ENOMEM);
  } else if (fill(env, &out, count, values[0], values[1])) {
    transmit(s->fd, out.messages, count, out.results);
    result = outcome(env, &out, count);
  }
  discard(&out, &few);
  return result;
}

/* ---- functions ---- */

static napi_value clocks(napi_env env, napi_callback_info info) {
  static const clockid_t ids[3] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME};
  napi_value values[1];
  napi_typedarray_type type = napi_int8_array;
  size_t length = 0;
  void *data = NULL;
  bool typed = false;
  if (!arguments(env, info, 1, values, NULL)) return NULL;
  if (napi_is_typedarray(env, values[0], &typed) != napi_ok || !typed ||
      napi_get_typedarray_info(env, values[0], &type, &length, &data, NULL, NULL) != napi_ok ||
      type != napi_float64_array || length < 3 || data == NULL) {
    throw_type(env, "expected a Float64Array of at least 3");
    return NULL;
  }
  double *out = data;
  for (int i = 0; i < 3; i++) {
    struct timespec now;
    if (clock_gettime(ids[i], &now) != 0) {
      throw_errno(env, "clock_gettime", errno);
      return NULL;
    }
    out[i] = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  }
  return NULL;
}

static napi_value interface_index(napi_env env, napi_callback_info info) {
  napi_value values[1], result;
  char name[IF_NAMESIZE + 8];
  size_t length = 0;
  if (!arguments(env, info, 1, values, NULL)) return NULL;
  if (napi_get_value_string_utf8(env, values[0], name, sizeof name, &length) != napi_ok) {
    throw_type(env, "expected a string");
    return NULL;
  }
  /* A name that is too long, or has a NUL inside, is no interface rather than another one. */
  const bool possible = length > 0 && length < IF_NAMESIZE && strlen(name) == length;
  const unsigned index = possible ? if_nametoindex(name) : 0;
  return ok(env, napi_create_uint32(env, index, &result)) ? result : NULL;
}

/* Two ends of a channel: ours, and one that a child is to be given. Neither is inherited unasked. */
static napi_value stream_pair(napi_env env, napi_callback_info info) {
  napi_value result, number;
  int ends[2];
  (void)info;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw_errno(env, "socketpair", errno);
    return NULL;
  }
  if (ok(env, napi_create_array_with_length(env, 2, &result)) && ok(env, napi_create_int32(env, ends[0], &number)) &&
      ok(env, napi_set_element(env, result, 0, number)) && ok(env, napi_create_int32(env, ends[1], &number)) &&
      ok(env, napi_set_element(env, result, 1, number)))
    return result;
  (void)close(ends[0]);
  (void)close(ends[1]);
  return NULL;
}

/* A descriptor that came by inheritance goes no further. */
/*
 * For us alone, and the last of our descriptors. The kernel ends a process's files from the last to the first, and takes
 * some 10 ms for each packet socket: what the guardian waits for must not come after these. Returns the new number.
 */
static napi_value keep_last(napi_env env, napi_callback_info info) {
  napi_value values[1];
  int fd = -1;
  struct rlimit limit;
  if (!arguments(env, info, 1, values, NULL) || !int_argument(env, values[0], &fd)) return NULL;
  const bool less = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < LAST_DESCRIPTOR;
  const rlim_t most = less ? limit.rlim_cur : LAST_DESCRIPTOR;
  int kept = most > 0 ? fcntl(fd, F_DUPFD_CLOEXEC, (int)most - 1) : -1;
  if (kept >= 0) {
    (void)close(fd);
  } else {
    const int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) {
      throw_errno(env, "fcntl", errno);
      return NULL;
    }
    kept = fd;
  }
  napi_value result;
  return ok(env, napi_create_int32(env, kept, &result)) ? result : NULL;
}

/* ---- the memory shared with the guardian ---- */

/* Unmapped with the object; several may map the same memory. */
static void on_words_collected(napi_env env, void *pointer, void *hint) {
  (void)env;
  (void)hint;
  (void)munmap(pointer, sizeof(struct guardian_words));
}

static napi_value construct_words(napi_env env, napi_callback_info info) {
  napi_value values[1], self, target = NULL;
  int fd = -1;
  struct stat file;
  if (!ok(env, napi_get_new_target(env, info, &target))) return NULL;
  if (target == NULL) {
    throw_type(env, "GuardianWords needs new");
    return NULL;
  }
  if (!arguments(env, info, 1, values, &self) || !int_argument(env, values[0], &fd)) return NULL;
  /* The C library's fstat() is a symbol of glibc 2.33; Debian 10 and RHEL 8 have 2.28. */
  if (syscall(SYS_fstat, fd, &file) != 0) {
    throw_errno(env, "fstat", errno);
    return NULL;
  }
  /* Smaller memory would end the process at the first touch behind its end. */
  if (file.st_size != (off_t)sizeof(struct guardian_words)) {
    throw_errno(env, "mmap", EINVAL);
    return NULL;
  }
  struct guardian_words *words = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (words == MAP_FAILED) {
    throw_errno(env, "mmap", errno);
    return NULL;
  }
  if (words->magic != WORDS_MAGIC || words->units != WORDS_UNITS) {
    (void)munmap(words, sizeof *words);
    throw_errno(env, "mmap", EPROTO);
    return NULL;
  }
  if (!ok(env, napi_wrap(env, self, words, on_words_collected, NULL, NULL))) {
    (void)munmap(words, sizeof *words);
    return NULL;
  }
  return ok(env, napi_type_tag_object(env, self, &words_tag)) ? self : NULL;
}

static struct guardian_words *words_argument(napi_env env, napi_value self) {
  bool ours = false;
  void *pointer = NULL;
  if (napi_check_object_type_tag(env, self, &words_tag, &ours) == napi_ok && ours &&
      napi_unwrap(env, self, &pointer) == napi_ok)
    return pointer;
  throw_type(env, "not a GuardianWords");
  return NULL;
}

/* The unit, and a number of ms that is 0 or more, at most some 100 000 years. */
static struct guardian_unit *unit_argument(napi_env env, napi_callback_info info, double *ms) {
  napi_value values[2], self;
  int unit = 0;
  if (!arguments(env, info, ms == NULL ? 1 : 2, values, &self)) return NULL;
  struct guardian_words *const words = words_argument(env, self);
  if (words == NULL || !int_argument(env, values[0], &unit)) return NULL;
  if (unit < 0 || (unsigned)unit >= WORDS_UNITS) {
    (void)napi_throw_range_error(env, "ERR_OUT_OF_RANGE", "a unit is 0 to 65535");
    return NULL;
  }
  if (ms == NULL) return &words->unit[unit];
  if (napi_get_value_double(env, values[1], ms) != napi_ok) {
    throw_type(env, "expected a number");
    return NULL;
  }
  if (!(*ms >= 0 && *ms < 4e12)) {
    (void)napi_throw_range_error(env, "ERR_OUT_OF_RANGE", "ms are 0 or more");
    return NULL;
  }
  return &words->unit[unit];
}

static uint32_t load_word(const struct guardian_unit *unit) {
  return __atomic_load_n(&unit->word, __ATOMIC_SEQ_CST);
}

/*
 * The guardian holds a word for as long as a few netlink requests take. One that was stopped meanwhile must not stop us:
 * after `ms` the word is given back as it is, busy.
 */
static uint32_t await_not_busy(const struct guardian_unit *unit, double ms) {
  const struct timespec pause = {0, 100000};
  const uint64_t until = uv_hrtime() + (uint64_t)(ms * 1e6);
  uint32_t word = load_word(unit);
  while ((word & WORD_BUSY) != 0 && uv_hrtime() < until) {
    (void)nanosleep(&pause, NULL);
    word = load_word(unit);
  }
  return word;
}

static napi_value number_value(napi_env env, uint32_t number) {
  napi_value result;
  return ok(env, napi_create_uint32(env, number, &result)) ? result : NULL;
}

static napi_value ms_value(napi_env env, uint64_t ns) {
  napi_value result;
  return ok(env, napi_create_double(env, (double)ns / 1e6, &result)) ? result : NULL;
}

static napi_value words_word(napi_env env, napi_callback_info info) {
  const struct guardian_unit *const unit = unit_argument(env, info, NULL);
  return unit == NULL ? NULL : number_value(env, load_word(unit));
}

/* The generation for the will that is sent next; 0 when the guardian executed the last one and nobody has noticed. */
static napi_value words_arm(napi_env env, napi_callback_info info) {
  double ms = 0;
  struct guardian_unit *const unit = unit_argument(env, info, &ms);
  if (unit == NULL) return NULL;
  uint32_t word = await_not_busy(unit, ms), next;
  /* A deadline of an earlier life would be over at once. */
  if ((word & (WORD_ARMED | WORD_EXECUTED)) == 0) __atomic_store_n(&unit->deadline, 0, __ATOMIC_SEQ_CST);
  do {
    if ((word & WORD_EXECUTED) != 0) return number_value(env, 0);
    next = (word >> WORD_GENERATION) % WORD_GENERATIONS + 1;
  } while (!__atomic_compare_exchange_n(&unit->word, &word,
                                        next << WORD_GENERATION | WORD_ARMED | (word & WORD_BUSY), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return number_value(env, next);
}

/* The word afterwards: with EXECUTED the guardian was faster, with BUSY it did not finish in time. */
static napi_value words_withdraw(napi_env env, napi_callback_info info) {
  double ms = 0;
  struct guardian_unit *const unit = unit_argument(env, info, &ms);
  if (unit == NULL) return NULL;
  /* First no longer armed, then the wait: a guardian that begins now finds it so. */
  (void)__atomic_and_fetch(&unit->word, ~WORD_ARMED, __ATOMIC_SEQ_CST);
  return number_value(env, await_not_busy(unit, ms));
}

/* As withdraw; afterwards a new will may be armed, unless it is busy still. */
static napi_value words_acknowledge(napi_env env, napi_callback_info info) {
  double ms = 0;
  struct guardian_unit *const unit = unit_argument(env, info, &ms);
  if (unit == NULL) return NULL;
  const uint32_t word = await_not_busy(unit, ms);
  if ((word & WORD_BUSY) != 0) return number_value(env, word);
  return number_value(env, __atomic_and_fetch(&unit->word, ~WORD_EXECUTED, __ATOMIC_SEQ_CST));
}

/* The deadline before. */
static napi_value words_deadline(napi_env env, napi_callback_info info) {
  double ms = 0;
  struct guardian_unit *const unit = unit_argument(env, info, &ms);
  if (unit == NULL) return NULL;
  return ms_value(env, __atomic_exchange_n(&unit->deadline, (uint64_t)(ms * 1e6), __ATOMIC_SEQ_CST));
}

/* How many words the guardian has claimed so far. */
static napi_value words_executions(napi_env env, napi_callback_info info) {
  napi_value self, result;
  size_t count = 0;
  if (!ok(env, napi_get_cb_info(env, info, &count, NULL, &self, NULL))) return NULL;
  const struct guardian_words *const words = words_argument(env, self);
  if (words == NULL) return NULL;
  const uint64_t executions = __atomic_load_n(&words->executions, __ATOMIC_SEQ_CST);
  return ok(env, napi_create_double(env, (double)executions, &result)) ? result : NULL;
}

/* Ours goes out, the guardian's comes back: CLOCK_MONOTONIC in ms. */
static napi_value words_beat(napi_env env, napi_callback_info info) {
  napi_value values[1], self;
  double ms = 0;
  if (!arguments(env, info, 1, values, &self)) return NULL;
  struct guardian_words *const words = words_argument(env, self);
  if (words == NULL) return NULL;
  if (napi_get_value_double(env, values[0], &ms) != napi_ok || !(ms >= 0 && ms < 4e12)) {
    throw_type(env, "expected ms, 0 or more");
    return NULL;
  }
  __atomic_store_n(&words->engine_beat, (uint64_t)(ms * 1e6), __ATOMIC_SEQ_CST);
  return ms_value(env, __atomic_load_n(&words->guardian_beat, __ATOMIC_SEQ_CST));
}

/*
 * Whether nobody is at the other end of the channel any more. Node could only read from it, and makes an exception of
 * every look that finds nothing.
 */
static napi_value words_hung_up(napi_env env, napi_callback_info info) {
  napi_value values[1], self, result;
  int fd = -1;
  if (!arguments(env, info, 1, values, &self) || words_argument(env, self) == NULL || !int_argument(env, values[0], &fd))
    return NULL;
  struct pollfd look = {fd, 0, 0};
  const bool gone = poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  return ok(env, napi_get_boolean(env, gone, &result)) ? result : NULL;
}

/* ---- privileges ---- */

/*
 * Everything goes from the calling thread, for good. Raw system calls, because the kernel keeps credentials by thread and
 * a C library's wrapper may change all of them. Every set is asked for afterwards: what is said here is what is so.
 */
static napi_value drop_privileges(napi_env env, napi_callback_info info) {
  (void)info;
  if (syscall(SYS_gettid) == getpid()) {
    /* The engine's own thread would lose its sockets' future. */
    throw_errno(env, "capset", EINVAL);
    return NULL;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    throw_errno(env, "prctl", errno);
    return NULL;
  }
  /* Both need CAP_SETPCAP. Without it no_new_privs alone keeps a child of uid 0 from having them again. */
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  (void)prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0);
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  memset(sets, 0, sizeof sets);
  if (syscall(SYS_capset, &header, sets) != 0) {
    throw_errno(env, "capset", errno);
    return NULL;
  }
  memset(sets, 0xff, sizeof sets);
  if (syscall(SYS_capget, &header, sets) != 0) {
    throw_errno(env, "capget", errno);
    return NULL;
  }
  uint32_t left = 0;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    left |= sets[i].effective | sets[i].permitted | sets[i].inheritable;
  for (unsigned long capability = 0; capability < 64; capability++)
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1) left = 1;
  if (left != 0)
    throw_errno(env, "capset", EPERM);
  else if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
    throw_errno(env, "prctl", EPERM);
  return NULL;
}

/* Of the whole process: no core, and nobody of the same user reads its memory. */
static napi_value forbid_dumps(napi_env env, napi_callback_info info) {
  (void)info;
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) throw_errno(env, "prctl", errno);
  return NULL;
}

/* Who is at the other end of a unix socket: who connected, or called listen(). */
static napi_value peer_of(napi_env env, napi_callback_info info) {
  napi_value values[1], result, number;
  struct ucred peer = {0, 0, 0};
  socklen_t length = sizeof peer;
  int fd = -1;
  if (!arguments(env, info, 1, values, NULL) || !int_argument(env, values[0], &fd)) return NULL;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    throw_errno(env, "getsockopt", errno);
    return NULL;
  }
  /* Every other socket answers as well, with a pid of 0. */
  if (length != sizeof peer || peer.pid < 0 || peer.uid == (uid_t)-1) {
    throw_errno(env, "getsockopt", ENOTCONN);
    return NULL;
  }
  if (!ok(env, napi_create_object(env, &result)) || !ok(env, napi_create_int32(env, peer.pid, &number)) ||
      !ok(env, napi_set_named_property(env, result, "pid", number)) ||
      !ok(env, napi_create_uint32(env, peer.uid, &number)) ||
      !ok(env, napi_set_named_property(env, result, "uid", number)))
    return NULL;
  return result;
}

NAPI_MODULE_INIT() {
  static const napi_property_descriptor methods[] = {
      {"setOption", NULL, set_option, NULL, NULL, NULL, napi_default_method, NULL},
      {"connect", NULL, connect_socket, NULL, NULL, NULL, napi_default_method, NULL},
      {"bind", NULL, bind_socket, NULL, NULL, NULL, napi_default_method, NULL},
      {"attachFilter", NULL, attach_filter, NULL, NULL, NULL, napi_default_method, NULL},
      {"start", NULL, start, NULL, NULL, NULL, napi_default_method, NULL},
      {"stop", NULL, stop, NULL, NULL, NULL, napi_default_method, NULL},
      {"receive", NULL, receive, NULL, NULL, NULL, napi_default_method, NULL},
      {"send", NULL, send_messages, NULL, NULL, NULL, napi_default_method, NULL},
      {"close", NULL, close_socket, NULL, NULL, NULL, napi_default_method, NULL},
  };
  napi_value class;
  if (!ok(env, napi_define_class(env, "NativeSocket", NAPI_AUTO_LENGTH, construct, NULL,
                                 sizeof methods / sizeof *methods, methods, &class)))
    return NULL;
  /* Those of a socket that mean something to a process, and to a channel that others read and write. */
  static const napi_property_descriptor process_methods[] = {
      {"start", NULL, start, NULL, NULL, NULL, napi_default_method, NULL},
      {"close", NULL, close_socket, NULL, NULL, NULL, napi_default_method, NULL},
  };
  napi_value process_class;
  if (!ok(env, napi_define_class(env, "ProcessEnd", NAPI_AUTO_LENGTH, construct_process_end, NULL,
                                 sizeof process_methods / sizeof *process_methods, process_methods, &process_class)))
    return NULL;
  napi_value channel_class;
  if (!ok(env, napi_define_class(env, "ChannelEnd", NAPI_AUTO_LENGTH, construct_channel_end, NULL,
                                 sizeof process_methods / sizeof *process_methods, process_methods, &channel_class)))
    return NULL;
  static const napi_property_descriptor timer_methods[] = {
      {"start", NULL, start, NULL, NULL, NULL, napi_default_method, NULL},
      {"set", NULL, set_timer, NULL, NULL, NULL, napi_default_method, NULL},
      {"close", NULL, close_socket, NULL, NULL, NULL, napi_default_method, NULL},
  };
  napi_value timer_class;
  if (!ok(env, napi_define_class(env, "NativeTimer", NAPI_AUTO_LENGTH, construct_timer, NULL,
                                 sizeof timer_methods / sizeof *timer_methods, timer_methods, &timer_class)))
    return NULL;
  static const napi_property_descriptor words_methods[] = {
      {"word", NULL, words_word, NULL, NULL, NULL, napi_default_method, NULL},
      {"arm", NULL, words_arm, NULL, NULL, NULL, napi_default_method, NULL},
      {"withdraw", NULL, words_withdraw, NULL, NULL, NULL, napi_default_method, NULL},
      {"acknowledge", NULL, words_acknowledge, NULL, NULL, NULL, napi_default_method, NULL},
      {"deadline", NULL, words_deadline, NULL, NULL, NULL, napi_default_method, NULL},
      {"beat", NULL, words_beat, NULL, NULL, NULL, napi_default_method, NULL},
      {"executions", NULL, words_executions, NULL, NULL, NULL, napi_default_method, NULL},
      {"hungUp", NULL, words_hung_up, NULL, NULL, NULL, napi_default_method, NULL},
  };
  napi_value words_class;
  if (!ok(env, napi_define_class(env, "GuardianWords", NAPI_AUTO_LENGTH, construct_words, NULL,
                                 sizeof words_methods / sizeof *words_methods, words_methods, &words_class)))
    return NULL;
  const napi_property_descriptor exported[] = {
      {"NativeSocket", NULL, NULL, NULL, NULL, class, napi_enumerable, NULL},
      {"ProcessEnd", NULL, NULL, NULL, NULL, process_class, napi_enumerable, NULL},
      {"ChannelEnd", NULL, NULL, NULL, NULL, channel_class, napi_enumerable, NULL},
      {"NativeTimer", NULL, NULL, NULL, NULL, timer_class, napi_enumerable, NULL},
      {"GuardianWords", NULL, NULL, NULL, NULL, words_class, napi_enumerable, NULL},
      {"clocks", NULL, clocks, NULL, NULL, NULL, napi_enumerable, NULL},
      {"keepLast", NULL, keep_last, NULL, NULL, NULL, napi_enumerable, NULL},
      {"interfaceIndex", NULL, interface_index, NULL, NULL, NULL, napi_enumerable, NULL},
      {"dropPrivileges", NULL, drop_privileges, NULL, NULL, NULL, napi_enumerable, NULL},
      {"streamPair", NULL, stream_pair, NULL, NULL, NULL, napi_enumerable, NULL},
      {"forbidDumps", NULL, forbid_dumps, NULL, NULL, NULL, napi_enumerable, NULL},
      {"peerOf", NULL, peer_of, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  if (!ok(env, napi_define_properties(env, exports, sizeof exported / sizeof *exported, exported))) return NULL;
  return exports;
}
