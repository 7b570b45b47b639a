/* SPDX-License-Identifier: Apache-2.0 */
/* See log-text.h. Only begin_line(), append() and append_string() make the JSON, so it is known to be well-formed ASCII. */
#define _GNU_SOURCE
#include "log-text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Priorities of syslog(3). */
#define PRIORITY_ERROR 3
#define PRIORITY_WARNING 4
#define PRIORITY_INFO 6

struct text {
  char bytes[sizeof((struct line *)NULL)->bytes];
  size_t length;
};

static void put(struct text *text, const char *from, size_t length) {
  const size_t room = sizeof text->bytes - 1 - text->length; /* the end of the line always fits */
  if (length > room) length = room;
  memcpy(text->bytes + text->length, from, length);
  text->length += length;
}

static void put_string(struct text *text, const char *string) {
  put(text, string, strlen(string));
}

static void put_time(struct text *text) {
  struct timespec now;
  struct tm local;
  char time[48];
  if (clock_gettime(CLOCK_REALTIME, &now) != 0 || localtime_r(&now.tv_sec, &local) == NULL) return;
  const long minutes = local.tm_gmtoff / 60, east = minutes < 0 ? -minutes : minutes;
  (void)snprintf(time, sizeof time, "%04d-%02d-%02dT%02d:%02d:%02d.%03ld%c%02ld:%02ld ", local.tm_year + 1900,
                 local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, now.tv_nsec / 1000000,
                 minutes < 0 ? '-' : '+', east / 60, east % 60);
  put_string(text, time);
}

/* Returns the end of the JSON value at `at`: after its quote, after its bracket, or at the next comma. */
static const char *end_of_value(const char *at, const char *end) {
  const bool is_list = *at == '[';
  bool quoted = false;
  for (const char *next = at; next < end; next++) {
    if (quoted && *next == '\\') {
      next++;
    } else if (*next == '"') {
      quoted = !quoted;
      if (!quoted && *at == '"') return next + 1;
    } else if (!quoted && is_list && *next == ']') {
      return next + 1;
    } else if (!quoted && !is_list && *next == ',') {
      return next;
    }
  }
  return end;
}

/* Returns whether a string needs no quotes. */
static bool is_bare(const char *from, const char *to) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@%+,-";
  for (const char *at = from; at < to; at++)
    if (memchr(allowed, *at, sizeof allowed - 1) == NULL) return false;
  return from < to;
}

/* Appends the message without its quotes and backslashes. */
static void put_message(struct text *text, const char *from, const char *to) {
  for (const char *at = from; at < to; at++) {
    if (*at == '\\' && at + 1 < to) at++;
    put(text, at, 1);
  }
}

static void put_fields(struct text *text, const char *at, const char *end) {
  while (at < end) {
    const char *const name = at + 2; /* begins after the comma and the quote */
    const char *const name_end = memchr(name, '"', (size_t)(end - name));
    if (name_end == NULL) return;
    const char *from = name_end + 2, *to = end_of_value(from, end);
    at = to;
    if (*from == '"' && is_bare(from + 1, to - 1)) {
      from++;
      to--;
    }
    put(text, " ", 1);
    put(text, name, (size_t)(name_end - name));
    put(text, "=", 1);
    put(text, from, (size_t)(to - from));
  }
}

void make_text(struct line *line, bool for_journal) {
  static const char key[] = ",\"msg\":\"";
  struct text text = {.length = 0};
  const bool is_error = line->level >= LOG_ERROR, is_info = line->level < LOG_WARN;
  if (for_journal) {
    const int priority = is_error ? PRIORITY_ERROR : is_info ? PRIORITY_INFO : PRIORITY_WARNING;
    const char prefix[] = {'<', (char)('0' + priority), '>', '\0'};
    put_string(&text, prefix);
  } else {
    put_time(&text);
  }
  put_string(&text, is_error  ? "ERROR guardian: "
                    : is_info ? "INFO  guardian: "
                              : "WARN  guardian: ");
  put_message(&text, line->bytes + line->message + sizeof key - 1, line->bytes + line->fields - 1);
  put_fields(&text, line->bytes + line->fields, line->bytes + line->length);
  text.bytes[text.length++] = '\n';
  memcpy(line->bytes, text.bytes, text.length);
  line->length = text.length;
}
