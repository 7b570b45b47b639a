/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast-probe probe: sends one UDP datagram a tick to an address, and reports which name answered. A probe is lost
 * after one second without an answer. A gap is a time of more than three intervals without an answer, while probes were
 * sent. If two names answer one probe, this is a duplicate.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define NAMES_MAX 16
#define ANSWER_LIMIT_NS 1000000000ll
#define LAST_ANSWERS_NS 200000000ll /* wait for probes that are under way at the end */
#define GAP_INTERVALS 3
#define DUPLICATE_LINES_PER_S 10

struct probe {
  uint64_t sequence;
  nanos sent_at;
  int holder; /* index of the name that answered, -1 none yet */
};

struct prober {
  int fd;
  struct sockaddr_storage target;
  socklen_t target_length;
  nanos interval;
  struct probe *ring;
  uint64_t ring_size; /* a power of two that covers more than ANSWER_LIMIT_NS */
  uint64_t next; /* sequence of the next probe */
  uint64_t oldest; /* the first probe that is neither answered nor counted as lost for good */
  uint64_t received, lost, late, duplicates, missed, send_errors, unknown;
  char names[NAMES_MAX][NAME_MAX_LENGTH + 1];
  uint64_t by_name[NAMES_MAX];
  int name_count;
  int holder; /* index in names of the router that answered last, -1 before the first answer */
  bool answered; /* true if the next three fields are set */
  uint64_t last_sequence; /* highest sequence number that was answered */
  nanos last_answer;
  uint64_t missed_before; /* value of `missed` at the time of the last answer */
  nanos longest_gap;
  uint64_t gaps;
  nanos duplicate_second;
  int duplicate_lines;
};

static struct probe *slot(struct prober *p, uint64_t sequence) {
  return &p->ring[sequence & (p->ring_size - 1)];
}

static int find_name(struct prober *p, const char *name, size_t length) {
  for (int i = 0; i < p->name_count; i++)
    if (strlen(p->names[i]) == length && memcmp(p->names[i], name, length) == 0) return i;
  if (p->name_count == NAMES_MAX) return -1;
  memcpy(p->names[p->name_count], name, length);
  p->names[p->name_count][length] = '\0';
  return p->name_count++;
}

static void count_lost(struct prober *p, nanos until) {
  for (; p->oldest < p->next; p->oldest++) {
    const struct probe *probe = slot(p, p->oldest);
    if (probe->sent_at + ANSWER_LIMIT_NS > until) break;
    if (probe->holder < 0) p->lost++;
  }
}

static void send_probe(struct prober *p) {
  char text[32];
  if (p->next - p->oldest >= p->ring_size) { /* count_lost() prevents it; an open probe must never be overwritten */
    p->missed++;
    return;
  }
  const int length = snprintf(text, sizeof text, "%" PRIu64, p->next);
  struct probe *probe = slot(p, p->next);
  probe->sequence = p->next++;
  probe->sent_at = now();
  probe->holder = -1;
  ssize_t sent;
  do {
    sent = sendto(p->fd, text, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&p->target,
                  p->target_length);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) p->send_errors++; /* unreachable, for instance: the probe is lost, as a client would see it */
}

/* Counts the unanswered probes between two answers. A probe that has left the ring counts as unanswered. */
static uint64_t count_unanswered(struct prober *p, uint64_t after, uint64_t before) {
  uint64_t count = 0;
  for (uint64_t sequence = after + 1; sequence < before; sequence++) {
    const struct probe *probe = slot(p, sequence);
    if (probe->sequence != sequence || probe->holder < 0) count++;
  }
  return count;
}

static void report_silence(struct prober *p, nanos until, uint64_t before, bool open) {
  const nanos silence = until - p->last_answer;
  if (silence <= GAP_INTERVALS * p->interval) return;
  const uint64_t lost = count_unanswered(p, p->last_sequence, before);
  const uint64_t missed = p->missed - p->missed_before;
  if (lost == 0) {
    if (missed > 0)
      print_line("{\"t\":%.3f,\"event\":\"stall\",\"ms\":%.3f,\"missed\":%" PRIu64 "}", to_ms(until), to_ms(silence),
                 missed);
    return;
  }
  p->gaps++;
  if (silence > p->longest_gap) p->longest_gap = silence;
  print_line("{\"t\":%.3f,\"event\":\"gap\",\"from\":%.3f,\"to\":%.3f,\"ms\":%.3f,\"lost\":%" PRIu64
             ",\"missed\":%" PRIu64 ",\"open\":%s}",
             to_ms(until), to_ms(p->last_answer), to_ms(until), to_ms(silence), lost, missed, open ? "true" : "false");
}

static void report_duplicate(struct prober *p, nanos at, uint64_t sequence, int first, int second) {
  p->duplicates++;
  if (at - p->duplicate_second >= 1000000000) {
    p->duplicate_second = at;
    p->duplicate_lines = 0;
  }
  if (p->duplicate_lines++ >= DUPLICATE_LINES_PER_S) return;
  print_line("{\"t\":%.3f,\"event\":\"duplicate\",\"seq\":%" PRIu64 ",\"names\":[\"%s\",\"%s\"]}", to_ms(at), sequence,
             p->names[first], p->names[second]);
}

static void handle_answer(struct prober *p, uint64_t sequence, const char *name, size_t length, nanos at) {
  const int holder = find_name(p, name, length);
  struct probe *probe = slot(p, sequence);
  if (holder < 0 || sequence >= p->next || probe->sequence != sequence) {
    p->unknown++;
    return;
  }
  if (probe->holder >= 0) {
    if (probe->holder != holder) report_duplicate(p, at, sequence, probe->holder, holder);
    return;
  }
  if (sequence < p->oldest || at - probe->sent_at > ANSWER_LIMIT_NS) {
    p->late++;
    if (sequence < p->oldest) return; /* counted as lost already */
  } else {
    probe->holder = holder;
    p->received++;
    p->by_name[holder]++;
  }
  if (p->answered) report_silence(p, at, sequence, false);
  if (holder != p->holder) {
    p->holder = holder;
    print_line("{\"t\":%.3f,\"event\":\"holder\",\"name\":\"%s\",\"seq\":%" PRIu64 "}", to_ms(at), p->names[holder],
               sequence);
  }
  if (!p->answered || at > p->last_answer) p->last_answer = at;
  if (!p->answered || sequence > p->last_sequence) p->last_sequence = sequence;
  p->missed_before = p->missed;
  p->answered = true;
}

static void read_answers(struct prober *p) {
  struct packet packet;
  for (int i = 0; i < DRAIN_MAX && receive_packet(p->fd, &packet); i++) {
    const char *const text = (const char *)packet.bytes;
    char *end = NULL;
    errno = 0;
    const unsigned long long sequence = strtoull(text, &end, 10);
    const size_t name_length = *end == ' ' ? strlen(end + 1) : 0;
    /* Only the address that was asked may answer: an answer from another one would hide a broken responder. */
    if (errno != 0 || end == text || !is_same_address(&packet.from, &p->target) ||
        !is_plain_name(end + 1, name_length)) {
      p->unknown++;
      continue;
    }
    handle_answer(p, sequence, end + 1, name_length, packet.at);
  }
}

static bool is_under_way(struct prober *p) {
  for (uint64_t sequence = p->answered ? p->last_sequence + 1 : p->oldest; sequence < p->next; sequence++) {
    if (sequence < p->oldest) continue;
    if (slot(p, sequence)->holder < 0) return true;
  }
  return false;
}

static void summarize(struct prober *p, nanos began, nanos ended) {
  if (p->answered) report_silence(p, ended, p->next, true);
  count_lost(p, INT64_MAX);
  printf("{\"t\":%.3f,\"event\":\"summary\",\"sent\":%" PRIu64 ",\"received\":%" PRIu64 ",\"lost\":%" PRIu64
         ",\"longestGapMs\":%.3f,\"gaps\":%" PRIu64 ",\"duplicates\":%" PRIu64 ",\"late\":%" PRIu64
         ",\"missedTicks\":%" PRIu64 ",\"sendErrors\":%" PRIu64 ",\"strangers\":%" PRIu64 ",\"ms\":%.3f,\"byName\":{",
         to_ms(ended), p->next, p->received, p->lost, to_ms(p->longest_gap), p->gaps, p->duplicates, p->late, p->missed,
         p->send_errors, p->unknown, to_ms(ended - began));
  for (int i = 0; i < p->name_count; i++)
    printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", p->names[i], p->by_name[i]);
  print_line("}}");
}

int run_probe(const struct options *options) {
  static struct prober p;
  if (options->count != 3) wrong_usage();
  p.interval = (nanos)(options->interval_us > 0 ? options->interval_us : 1000) * 1000;
  p.target_length = read_address(options->words[1], options->words[2], &p.target);
  p.holder = -1;
  p.ring_size = 1024;
  while ((nanos)p.ring_size * p.interval < 2 * ANSWER_LIMIT_NS + LAST_ANSWERS_NS) p.ring_size *= 2;
  p.ring = calloc(p.ring_size, sizeof *p.ring);
  if (p.ring == NULL) fail("get memory");
  for (uint64_t i = 0; i < p.ring_size; i++) p.ring[i].sequence = UINT64_MAX;
  p.fd = open_client(&p.target);
  if (options->fifo) request_fifo();

  const int signals = open_end_signals();
  const nanos began = now();
  const nanos end = options->duration_ms > 0 ? began + (nanos)options->duration_ms * 1000000 : INT64_MAX;
  nanos ended = INT64_MAX; /* no more probes after it */
  struct pollfd watched[3] = {{.fd = open_ticks(began + p.interval, p.interval), .events = POLLIN, .revents = 0},
                              {.fd = p.fd, .events = POLLIN, .revents = 0},
                              {.fd = signals, .events = POLLIN, .revents = 0}};
  print_line("{\"t\":%.3f,\"event\":\"start\",\"intervalUs\":%" PRId64 "}", to_ms(began), p.interval / 1000);
  for (;;) {
    if (poll(watched, 3, 100) < 0 && errno != EINTR) fail("poll");
    const uint64_t due = read_ticks(watched[0].fd);
    const nanos time = now();
    if (ended == INT64_MAX && (time >= end || watched[2].revents != 0)) ended = time;
    if (due > 0 && ended == INT64_MAX) {
      p.missed += due - 1;
      send_probe(&p);
    }
    read_answers(&p);
    count_lost(&p, time);
    if (ended != INT64_MAX && (time >= ended + LAST_ANSWERS_NS || !is_under_way(&p))) break;
    if (ended != INT64_MAX) watched[2].fd = -1;
  }
  summarize(&p, began, ended);
  free(p.ring);
  return EXIT_SUCCESS;
}
