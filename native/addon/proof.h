/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proofs for the guardian's clock: methods of GuardianWords. A proof says that at a moment each socket of the engine
 * was empty and its alarm was not overdue. The guardian's questions are answered in C on the event loop, so an engine
 * at rest runs no JavaScript. This file does not know which sockets matter.
 */
#ifndef ADDON_PROOF_H
#define ADDON_PROOF_H

#include "node.h"

/*
 * answer(ask, sockets, alarm?): answers the questions that arrive on the eventfd `ask`, from now on with these handles.
 * An `alarm` is a NativeTimer. A later call replaces the handles; its `ask` must be the same. Call it whenever a socket
 * is opened or closed.
 */
napi_value proof_answer(napi_env env, napi_callback_info info);

/* prove(): stores a proof, and answers a question that is not newer. Returns false if something waits to be read. */
napi_value proof_prove(napi_env env, napi_callback_info info);

#endif
