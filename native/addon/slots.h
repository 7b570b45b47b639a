/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's side of the slots of the guardian's clock (common/guardian-words.h): methods of GuardianWords. */
#ifndef ADDON_SLOTS_H
#define ADDON_SLOTS_H

#include "node.h"

/*
 * slotArm(slot, unit, sentAt): arms the slot. Returns the generation for the order that is sent next, or 0 while the
 * clock thread keeps the slot busy. `sentAt` is the time of the last frame, in ms.
 */
napi_value slot_arm(napi_env env, napi_callback_info info);

/* slotWithdraw(slot, ms): ends the rounds. Waits at most so long for a round under way. Returns the word afterwards. */
napi_value slot_withdraw(napi_env env, napi_callback_info info);

/* slotRead(slot, out): writes sentAt, newsAt (ms), sent, failed, latest (ms, set to 0) and the word. */
napi_value slot_read(napi_env env, napi_callback_info info);

#endif
