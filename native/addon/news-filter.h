/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's filter of a news socket (defer.h): it drops each packet that repeats the watched packet of its number, and
 * accepts every other one. The filter drops no packet that repetition.c would not count as a repetition. Times and gaps
 * are not compared here.
 */
#ifndef ADDON_NEWS_FILTER_H
#define ADDON_NEWS_FILTER_H

#include <linux/filter.h>

#include "repetition.h"

/*
 * Writes the filter, at most BPF_MAXINSNS instructions. Returns their number; 0 if a watch does not fit, or without a
 * watch.
 */
unsigned short write_news_filter(const struct repeated *own, struct sock_filter *program);

#endif
