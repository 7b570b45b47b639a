/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addon: functions of Linux that Node does not offer. This file defines the names by which JavaScript finds them
 * (src/linux/native.ts has their types). The jobs of the addon have these files:
 *
 *   handle, watch      a descriptor that the event loop watches    words     memory shared with the guardian
 *   slots, proof       the guardian's clock in that memory
 *   socket, send, receive, metadata, expected   NativeSocket                 rights    privileges, peer credentials
 *   repeated, repetition   packets of a NativeSocket that say the same as the last one
 *   defer, news-filter     reads such packets later, several at a time
 *   timer, beat        NativeTimer, BeatWatch                      system    clocks, interfaces, descriptors, exit
 *   node               errors and arguments
 */
#include "beat.h"
#include "expected.h"
#include "handle.h"
#include "node.h"
#include "proof.h"
#include "repeated.h"
#include "rights.h"
#include "slots.h"
#include "socket.h"
#include "system.h"
#include "timer.h"
#include "words.h"

#define METHOD(name, function) {name, NULL, function, NULL, NULL, NULL, napi_default_method, NULL}
#define FUNCTION(name, function) {name, NULL, function, NULL, NULL, NULL, napi_enumerable, NULL}
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const napi_property_descriptor socket_methods[] = {
    METHOD("setOption", socket_set_option),
    METHOD("connect", socket_connect),
    METHOD("bind", socket_bind),
    METHOD("attachFilter", socket_attach_filter),
    METHOD("expect", socket_expect),
    METHOD("expectedAt", socket_expected_at),
    METHOD("expectNothing", socket_expect_nothing),
    METHOD("watchRepeated", watch_repeated),
    METHOD("readRepeated", read_repeated),
    METHOD("endRepeated", end_repeated),
    METHOD("dueRepeated", due_repeated),
    METHOD("start", handle_start),
    METHOD("stop", handle_stop),
    METHOD("receive", socket_receive),
    METHOD("send", socket_send),
    METHOD("close", handle_close),
};

/* Methods of a descriptor that is only watched: a process, or a channel that other code reads and writes. */
static const napi_property_descriptor watch_methods[] = {
    METHOD("start", handle_start),
    METHOD("close", handle_close),
};

static const napi_property_descriptor timer_methods[] = {
    METHOD("start", handle_start),
    METHOD("set", timer_set),
    METHOD("close", handle_close),
};

static const napi_property_descriptor beat_methods[] = {
    METHOD("start", handle_start),
    METHOD("set", beat_watch_set),
    METHOD("heardAt", beat_watch_heard_at),
    METHOD("close", handle_close),
};

static const napi_property_descriptor words_methods[] = {
    METHOD("word", words_word),
    METHOD("arm", words_arm),
    METHOD("withdraw", words_withdraw),
    METHOD("acknowledge", words_acknowledge),
    METHOD("deadline", words_deadline),
    METHOD("beat", words_beat),
    METHOD("executions", words_executions),
    METHOD("hungUp", words_hung_up),
    METHOD("slotArm", slot_arm),
    METHOD("slotWithdraw", slot_withdraw),
    METHOD("slotRead", slot_read),
    METHOD("answer", proof_answer),
    METHOD("prove", proof_prove),
};

static const struct {
  const char *name;
  napi_callback constructor;
  const napi_property_descriptor *methods;
  size_t count;
} classes[] = {
    {"NativeSocket", construct_socket, socket_methods, COUNT_OF(socket_methods)},
    {"ProcessEnd", construct_process_end, watch_methods, COUNT_OF(watch_methods)},
    {"ChannelEnd", construct_channel_end, watch_methods, COUNT_OF(watch_methods)},
    {"NativeTimer", construct_timer, timer_methods, COUNT_OF(timer_methods)},
    {"BeatWatch", construct_beat_watch, beat_methods, COUNT_OF(beat_methods)},
    {"GuardianWords", construct_words, words_methods, COUNT_OF(words_methods)},
};

static const napi_property_descriptor functions[] = {
    FUNCTION("clocks", read_clocks),
    FUNCTION("keepLast", keep_descriptor_last),
    FUNCTION("exitWithin", exit_within),
    FUNCTION("interfaceIndex", find_interface),
    FUNCTION("dropPrivileges", drop_privileges),
    FUNCTION("streamPair", open_stream_pair),
    FUNCTION("forbidDumps", forbid_dumps),
    FUNCTION("peerOf", read_peer),
};

NAPI_MODULE_INIT() {
  for (size_t i = 0; i < COUNT_OF(classes); i++) {
    napi_value class;
    if (!ok(env, napi_define_class(env, classes[i].name, NAPI_AUTO_LENGTH, classes[i].constructor, NULL,
                                   classes[i].count, classes[i].methods, &class)))
      return NULL;
    const napi_property_descriptor property = {classes[i].name,  NULL, NULL, NULL, NULL, class,
                                               napi_enumerable, NULL};
    if (!ok(env, napi_define_properties(env, exports, 1, &property))) return NULL;
  }
  return ok(env, napi_define_properties(env, exports, COUNT_OF(functions), functions)) ? exports : NULL;
}
