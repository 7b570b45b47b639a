/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast-probe arp: asks once a tick which hosts have an address, and prints each change in the set of MACs that
 * answer. If two MACs answer one question, two holders exist at the same time. common/who-has.c decides what an answer
 * is.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/who-has.h"
#include "probe.h"

#define MACS_MAX 16

struct mac {
  unsigned char bytes[ETH_ALEN];
};

struct macs {
  struct mac macs[MACS_MAX];
  nanos first[MACS_MAX];
  int count;
};

struct observer {
  struct question question;
  const char *address;
  struct macs round; /* answers to the latest question */
  struct macs previous; /* answers to the one before */
  struct macs total;
  uint64_t answers[MACS_MAX];
  uint64_t rounds, answered_rounds, announcements, send_errors;
  nanos asked_at;
  nanos overlap;
};

/* Returns the MAC's index; -1 if it is not in the set. */
static int find_mac(const struct macs *macs, const unsigned char *mac) {
  for (int i = 0; i < macs->count; i++)
    if (memcmp(macs->macs[i].bytes, mac, ETH_ALEN) == 0) return i;
  return -1;
}

/* Returns the MAC's index; -1 if there is no room. */
static int add_mac(struct macs *macs, const unsigned char *mac, nanos at) {
  const int known = find_mac(macs, mac);
  if (known >= 0 || macs->count == MACS_MAX) return known;
  memcpy(macs->macs[macs->count].bytes, mac, ETH_ALEN);
  macs->first[macs->count] = at;
  return macs->count++;
}

static const char *mac_text(const unsigned char *mac, char text[18]) {
  (void)snprintf(text, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
  return text;
}

/*
 * Prints a change of the set of MACs that answer. The printed time is the time of the first answer of a new MAC. If no
 * MAC is new, it is the time of the question that a MAC did not answer.
 */
static void report_change(struct observer *o) {
  char text[18];
  nanos at = o->asked_at;
  bool changed = o->round.count != o->previous.count;
  for (int i = o->round.count - 1; i >= 0; i--)
    if (find_mac(&o->previous, o->round.macs[i].bytes) < 0) {
      at = o->round.first[i];
      changed = true;
    }
  if (!changed) return;
  printf("{\"t\":%.3f,\"event\":\"claim\",\"mac\":", to_ms(at));
  if (o->round.count > 0)
    printf("\"%s\"", mac_text(o->round.macs[0].bytes, text));
  else
    printf("null");
  printf(",\"macs\":[");
  for (int i = 0; i < o->round.count; i++)
    printf("%s\"%s\"", i > 0 ? "," : "", mac_text(o->round.macs[i].bytes, text));
  print_line("],\"address\":\"%s\"}", o->address);
}

static void finish_round(struct observer *o, nanos at) {
  if (o->rounds == 0) return;
  report_change(o);
  if (o->round.count > 0) o->answered_rounds++;
  if (o->round.count > 1) o->overlap += at - o->asked_at;
  o->previous = o->round;
}

static void ask(struct observer *o) {
  o->asked_at = now();
  o->round.count = 0;
  o->rounds++;
  if (!ask_all_hosts(&o->question)) o->send_errors++;
}

static void handle_answer(struct observer *o, const unsigned char *mac, nanos at) {
  (void)add_mac(&o->round, mac, at);
  const int index = add_mac(&o->total, mac, at);
  if (index >= 0) o->answers[index]++;
}

static void handle_announcement(struct observer *o, const unsigned char *mac, nanos at) {
  char text[18];
  o->announcements++;
  print_line("{\"t\":%.3f,\"event\":\"announce\",\"mac\":\"%s\",\"address\":\"%s\"}", to_ms(at), mac_text(mac, text),
       o->address);
}

static void read_statements(struct observer *o) {
  struct packet packet;
  for (int i = 0; i < DRAIN_MAX && receive_packet(o->question.fd, &packet); i++) {
    const unsigned char *mac = NULL;
    switch (read_statement(&o->question, &packet, &mac)) {
      case STATEMENT_ANSWER:
        handle_answer(o, mac, packet.at);
        break;
      case STATEMENT_ANNOUNCEMENT:
        handle_announcement(o, mac, packet.at);
        break;
      case STATEMENT_NONE:
        break;
    }
  }
}

static void print_summary(const struct observer *o, nanos began, nanos ended) {
  char text[18];
  printf("{\"t\":%.3f,\"event\":\"summary\",\"rounds\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"overlapMs\":%.3f"
         ",\"announcements\":%" PRIu64 ",\"sendErrors\":%" PRIu64 ",\"ms\":%.3f,\"byMac\":{",
         to_ms(ended), o->rounds, o->answered_rounds, to_ms(o->overlap), o->announcements, o->send_errors,
         to_ms(ended - began));
  for (int i = 0; i < o->total.count; i++)
    printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", mac_text(o->total.macs[i].bytes, text), o->answers[i]);
  print_line("}}");
}

int run_arp(const struct options *options) {
  static struct observer o;
  if (options->count != 3) wrong_usage();
  o.address = options->words[2];
  open_question(&o.question, options->words[1], o.address);
  const nanos interval = (nanos)(options->interval_us > 0 ? options->interval_us : 10000) * 1000;
  if (options->fifo) request_fifo();
  const int signals = open_end_signals();
  const nanos began = now();
  const nanos end = options->duration_ms > 0 ? began + (nanos)options->duration_ms * 1000000 : INT64_MAX;
  struct pollfd watched[3] = {{.fd = open_ticks(began + interval, interval), .events = POLLIN, .revents = 0},
                              {.fd = o.question.fd, .events = POLLIN, .revents = 0},
                              {.fd = signals, .events = POLLIN, .revents = 0}};
  print_line("{\"t\":%.3f,\"event\":\"start\",\"intervalUs\":%" PRId64 "}", to_ms(began), interval / 1000);
  for (;;) {
    if (poll(watched, 3, 100) < 0 && errno != EINTR) fail("poll");
    read_statements(&o);
    const nanos time = now();
    const bool over = time >= end || watched[2].revents != 0;
    if (over || read_ticks(watched[0].fd) > 0) {
      finish_round(&o, time);
      if (over) {
        print_summary(&o, began, time);
        return EXIT_SUCCESS;
      }
      ask(&o);
    }
  }
}
