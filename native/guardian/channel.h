/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and handles the engine's messages (message.h), and wakes the engine. */
#ifndef GUARDIAN_CHANNEL_H
#define GUARDIAN_CHANNEL_H

#include <stddef.h>

#include "engine.h"

#define MESSAGES_PER_TURN 256 /* an engine that sends without pause must not keep signals waiting */

enum reading { READ_EMPTY, READ_MORE, READ_CLOSED };

/* Handles at most `limit` messages. */
enum reading read_channel(struct engine *engine, int limit);

/* Returns NULL, or why the message is ignored. */
const char *handle_message(struct engine *engine, const unsigned char *bytes, size_t size);

/* Sends the engine a message with a text, which is cut at ANSWER_MAX bytes. */
void answer_engine(const struct engine *engine, uint8_t kind, uint8_t status, const char *text, size_t length);

/*
 * Wakes the engine, which then reads its clocks and publishes a heartbeat. If the channel is full, unread wake-ups wait
 * in it already.
 */
void wake_engine(const struct engine *engine);

#endif
