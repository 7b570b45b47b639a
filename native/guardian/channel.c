/* SPDX-License-Identifier: Apache-2.0 */
/* See channel.h. */
#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "clock/units.h"
#include "log.h"
#include "manager.h"
#include "message.h"
#include "plan.h"
#include "restart.h"
#include "upgrade.h"

#define COMPLAINTS_PER_S 10

static unsigned char message[MESSAGE_MAX + 1];

/* Handles a message that consists of its header. KIND_LOOK needs no action: the guardian is awake. */
static const char *handle_short_message(struct engine *engine, const unsigned char *bytes, size_t size) {
  if (size != HEADER_SIZE || u32_at(bytes + 4) != 0 || u32_at(bytes + 8) != 0) return "bytes follow where none belong";
  if (bytes[1] == KIND_LOG && u16_at(bytes + 2) >= LOG_FORMATS) return "its log format is unknown";
  if (bytes[1] == KIND_LOG) set_log_format((enum log_format)u16_at(bytes + 2));
  if (bytes[1] == KIND_REMOVE) remove_plan(u16_at(bytes + 2));
  if (bytes[1] == KIND_READY) engine->ready = true;
  if (bytes[1] == KIND_SETTLED) engine->settled = true;
  return NULL;
}

const char *handle_message(struct engine *engine, const unsigned char *bytes, size_t size) {
  if (size < HEADER_SIZE) return "it is shorter than a header";
  if (bytes[0] != FORMAT) return "its format is unknown";
  switch (bytes[1]) {
    case KIND_STORE:
    case KIND_GUARD:
      return store_plan(bytes, size);
    case KIND_CLOCK:
    case KIND_FORGET:
      return pass_on_order(bytes, size);
    case KIND_SNAPSHOT:
      return store_snapshot(bytes, size);
    case KIND_REHEARSE:
      return request_rehearsal(engine, bytes, size);
    case KIND_HAND_OVER:
      return hand_over(engine, bytes, size);
    case KIND_NOTIFY:
      if (size == HEADER_SIZE || size - HEADER_SIZE > NOTIFY_MAX) return "its text is empty or too long";
      notify_manager(bytes + HEADER_SIZE, size - HEADER_SIZE);
      return NULL;
    case KIND_REMOVE:
    case KIND_LOOK:
    case KIND_READY:
    case KIND_LOG:
    case KIND_SETTLED:
      return handle_short_message(engine, bytes, size);
    default:
      return "its kind is unknown";
  }
}

static void log_ignored_message(const char *fault, size_t size) {
  static time_t second;
  static unsigned count;
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) == 0 && now.tv_sec != second) {
    second = now.tv_sec;
    count = 0;
  }
  if (count++ >= COMPLAINTS_PER_S) return;
  struct line line;
  begin_line(&line, LOG_WARN, "messageIgnored", "ignored a message of the engine");
  append_string(&line, "reason", fault);
  append(&line, ",\"bytes\":%zu", size);
  end_line(&line);
}

/* A message of no bytes and the end of the channel both read as 0. Only a message carries its sender's credentials. */
enum reading read_channel(struct engine *engine, int limit) {
  for (int i = 0; i < limit; i++) {
    union {
      struct cmsghdr align;
      char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec vector = {message, sizeof message};
    struct msghdr header;
    memset(&header, 0, sizeof header);
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = &control;
    header.msg_controllen = sizeof control;
    const ssize_t length = recvmsg(engine->channel, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0) {
      if (errno == EINTR || errno == ECONNRESET) continue; /* a reset hides messages that still wait */
      return errno == EAGAIN || errno == EWOULDBLOCK ? READ_EMPTY : READ_CLOSED;
    }
    if (length == 0 && header.msg_controllen == 0) return READ_CLOSED;
    const bool cut = (header.msg_flags & MSG_TRUNC) != 0 || (size_t)length > MESSAGE_MAX;
    const char *const fault = cut ? "it is longer than 2 MiB" : handle_message(engine, message, (size_t)length);
    if (fault != NULL) log_ignored_message(fault, (size_t)length);
  }
  return READ_MORE;
}

void answer_engine(const struct engine *engine, uint8_t kind, uint8_t status, const char *text, size_t length) {
  unsigned char answer[ANSWER_MAX];
  const size_t kept = length < sizeof answer - 2 ? length : sizeof answer - 2;
  answer[0] = kind;
  answer[1] = status;
  memcpy(answer + 2, text, kept);
  if (engine->channel >= 0) (void)send(engine->channel, answer, kept + 2, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void wake_engine(const struct engine *engine) {
  if (engine->channel >= 0) (void)send(engine->channel, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}
