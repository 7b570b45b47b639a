/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NativeSocket: a handle for one socket of any family: raw IPv4 and IPv6, AF_PACKET, AF_NETLINK and the streams of
 * health checks. A receive or send error is a negative errno in the result, never an exception. This file does not know
 * VRRP, ARP, Neighbor Discovery and rtnetlink. TypeScript passes every number that has a meaning to a protocol.
 */
#ifndef ADDON_SOCKET_H
#define ADDON_SOCKET_H

#include "node.h"

/* The kernel's UIO_MAXIOV: one recvmmsg() or sendmmsg() takes no more messages. */
#define MAX_BATCH 1024u

napi_value construct_socket(napi_env env, napi_callback_info info);
napi_value socket_set_option(napi_env env, napi_callback_info info);
napi_value socket_bind(napi_env env, napi_callback_info info);
napi_value socket_connect(napi_env env, napi_callback_info info);
napi_value socket_attach_filter(napi_env env, napi_callback_info info);
napi_value socket_receive(napi_env env, napi_callback_info info);
napi_value socket_send(napi_env env, napi_callback_info info);

#endif
