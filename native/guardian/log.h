/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guardian's log on standard error, in the format of the engine's log. Each line is made as one JSON object with
 * pino's fields. log-text.c turns it into text for people. If the reader of the log has stopped, lines are lost, and
 * the guardian does not wait.
 */
#ifndef GUARDIAN_LOG_H
#define GUARDIAN_LOG_H

#include <stddef.h>

/* pino's levels */
#define LOG_INFO 30
#define LOG_WARN 40
#define LOG_ERROR 50

/* One line, at most 4096 bytes: a pipe that poll() calls writable takes that much without blocking. */
struct line {
  char bytes[4096];
  size_t length;
  int level;
  size_t message; /* where `,"msg":` begins */
  size_t fields;  /* where the fields begin, each with a comma in front */
};

/* Log formats, numbered as in message.h. LOG_AS_FOUND: the format that fits standard error. */
enum log_format { LOG_AS_FOUND, LOG_JSON, LOG_TEXT, LOG_JOURNALD, LOG_FORMATS };

/* Call once, before the first line. Without the call, lines are JSON and go to the inherited standard error. */
void open_log(void);

/* Returns the descriptor of the lines. */
int log_descriptor(void);

/* Sets the format from the next line on. */
void set_log_format(enum log_format format);

/* Begins a line. `event` is its stable code for programs (src/log/guardian-events.ts); the text may change. */
void begin_line(struct line *line, int level, const char *event, const char *text);
/* Appends formatted JSON. A piece that does not fit is left out whole, so that the line stays JSON. */
void append(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
void append_string(struct line *line, const char *name, const char *text);
void end_line(struct line *line);

/* Writes a whole line. `syscall_name` is the system call that failed with the errno `number`; NULL = none. */
void log_message(int level, const char *event, const char *text, const char *syscall_name, int number);

/* Returns "EPERM" for EPERM. An errno without a name here becomes "errno N", valid until the next call. */
const char *errno_name(int number);

#endif
