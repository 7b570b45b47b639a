/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that say the same as the last one, for example the advertisements of an Active that a Backup follows.
 * A packet is a repetition if all its octets are the same, except for IP ID, header checksum and type of service. A
 * repetition does not run JavaScript; its time moves a deadline. Any other packet of the same number runs JavaScript, in
 * the order of the kernel. A number is the octet behind the first octet of the IP payload, which is a VRID. This file
 * does not know what is advertised.
 */
#ifndef ADDON_REPEATED_H
#define ADDON_REPEATED_H

#include "node.h"

/*
 * watchRepeated(number, packet, source, destination, limits): watches repetitions of a packet as it was received, with
 * its source (sockaddr) and destination. `limits` has the numbers of REPEATED_LIMITS in src/linux/sockets/repetitions.ts, times in
 * ms. Replaces an earlier watch of the number.
 */
napi_value watch_repeated(napi_env env, napi_callback_info info);

/*
 * readRepeated(number, out): writes the time of the last repetition, and since the last reading: number of repetitions,
 * sum of their gaps, and the number of gaps in each cell. Returns false without a watch.
 */
napi_value read_repeated(napi_env env, napi_callback_info info);

/* endRepeated(number): from now on each packet of the number runs JavaScript. */
napi_value end_repeated(napi_env env, napi_callback_info info);

/*
 * dueRepeated(timer, news?): lets this NativeTimer call its `onReadable` when a deadline has passed. `news` is a second
 * socket for the same packets, whose filter this file sets (defer.h). Once for each socket.
 */
napi_value due_repeated(napi_env env, napi_callback_info info);

#endif
