/*
 * What a client on the LAN sees: a UDP responder, a UDP prober and an observer of ARP and Neighbor Discovery, for the demo
 * and the tests. Decided here: what counts as lost (no answer within one second), as a gap (no answer for more than three
 * intervals while probes went out) and as two owners. How it is seen is instrument.c's and who-has.c's, which the benchmark's
 * gauge takes, too. Refuses to know: VRRP and who should be the owner. The daemon never runs this program.
 */
#define _GNU_SOURCE
#include "instrument.h"
#include "who-has.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LENGTH 63
#define WORD_MAX_LENGTH 256 /* fits a packet, with a blank and a name behind it */
#define NAMES_MAX 16
#define ANSWER_LIMIT_NS 1000000000ll
#define LAST_ANSWERS_NS 200000000ll /* how long the end waits for probes that are under way */
#define GAP_INTERVALS 3
#define DUPLICATE_LINES_PER_S 10
#define MACS_MAX 16

static const char usage_text[] =
    "usage: holdfast-probe respond NAME PORT [--bind ADDRESS] [--fifo]\n"
    "         answers each UDP datagram from the address it was sent to: \"<first word of it> NAME\"\n"
    "       holdfast-probe probe ADDRESS PORT [--interval-us 1000] [--duration-ms N] [--fifo]\n"
    "         one UDP probe per interval, until the duration is over or SIGTERM or SIGINT comes.\n"
    "         JSON lines: start, owner (the answering NAME changed), gap, stall (the prober itself was late), duplicate\n"
    "         (two names answered one probe), summary. --fifo: SCHED_FIFO, where it is permitted\n"
    "       holdfast-probe arp INTERFACE ADDRESS [--interval-ms 10] [--duration-ms N] [--fifo]\n"
    "         asks who has the ADDRESS, IPv4 (ARP) or IPv6 (Neighbor Discovery). JSON lines: start, claim (the set of MACs\n"
    "         that answered one question changed), announce (a gratuitous ARP, an unsolicited advertisement), summary\n"
    "Times are CLOCK_MONOTONIC in milliseconds. Exit status: 0, 1 for a failure, 64 for wrong usage.\n";

struct options {
  const char *words[3];
  int count;
  const char *bind;
  long interval_us;
  long duration_ms; /* 0 = until a signal */
  bool fifo;
};

/* ---- common ---- */

void wrong_usage(void) {
  fputs(usage_text, stderr);
  exit(EXIT_USAGE);
}

static double ms(nanos time) { return (double)time / 1e6; }

static void line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void line(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vprintf(format, arguments);
  va_end(arguments);
  if (written < 0 || putchar('\n') == EOF || fflush(stdout) != 0) {
    /* Nobody reads any more; there is nothing left to do for. */
    exit(EXIT_FAILURE);
  }
}

static void ask_for_fifo(void) {
  if (!become_fifo(10)) fprintf(stderr, "holdfast-probe: no SCHED_FIFO (%s), going on without\n", strerror(errno));
}

/* ---- respond ---- */

/* A name goes into JSON lines of a prober elsewhere. */
static bool plain_name(const char *name, size_t length) {
  if (length == 0 || length > NAME_MAX_LENGTH) return false;
  for (size_t i = 0; i < length; i++)
    if (name[i] <= ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\') return false;
  return true;
}

static void answer_all(int fd, const char *name) {
  struct request request;
  for (int i = 0; i < DRAIN_MAX && take_request(fd, &request); i++) {
    size_t word = 0;
    while (word < request.length && word < WORD_MAX_LENGTH && request.bytes[word] != ' ' && request.bytes[word] != '\0')
      word++;
    request.bytes[word] = ' ';
    memcpy(request.bytes + word + 1, name, strlen(name));
    request.length = word + 1 + strlen(name);
    answer(fd, &request);
  }
}

static int respond(const struct options *options) {
  const char *const any[2] = {"0.0.0.0", "::"};
  struct pollfd watched[2];
  nfds_t count = 0;
  if (options->count != 3 || !plain_name(options->words[1], strlen(options->words[1]))) wrong_usage();
  for (int i = 0; i < (options->bind != NULL ? 1 : 2); i++) {
    const int fd = open_service(options->bind != NULL ? options->bind : any[i], options->words[2]);
    if (fd >= 0) watched[count++] = (struct pollfd){.fd = fd, .events = POLLIN, .revents = 0};
  }
  if (count == 0) fail("bind to that address");
  /* A service that is not scheduled for milliseconds answers too late from an address that has moved. */
  if (options->fifo) ask_for_fifo();
  line("{\"t\":%.3f,\"event\":\"start\",\"name\":\"%s\"}", ms(now()), options->words[1]);
  for (;;) {
    if (poll(watched, count, -1) < 0 && errno != EINTR) fail("poll");
    for (nfds_t i = 0; i < count; i++)
      if (watched[i].revents != 0) answer_all(watched[i].fd, options->words[1]);
  }
}

/* ---- probe ---- */

struct probe {
  uint64_t sequence;
  nanos sent_at;
  int owner; /* index of the name that answered, -1 none yet */
};

struct prober {
  int fd;
  struct sockaddr_storage target;
  socklen_t target_length;
  nanos interval;
  struct probe *ring;
  uint64_t ring_size; /* a power of two that covers more than ANSWER_LIMIT_NS */
  uint64_t next; /* sequence of the next probe */
  uint64_t oldest; /* probes before it have been judged */
  uint64_t received, lost, late, duplicates, missed, send_errors, strangers;
  char names[NAMES_MAX][NAME_MAX_LENGTH + 1];
  uint64_t by_name[NAMES_MAX];
  int name_count;
  int owner; /* of the last answer, -1 none */
  bool answered; /* the three below are set */
  uint64_t last_sequence; /* highest that was answered */
  nanos last_answer;
  uint64_t missed_before; /* `missed` at the last answer */
  nanos longest_gap;
  uint64_t gaps;
  nanos duplicate_second;
  int duplicate_lines;
};

static struct probe *slot(struct prober *p, uint64_t sequence) { return &p->ring[sequence & (p->ring_size - 1)]; }

static int name_index(struct prober *p, const char *name, size_t length) {
  for (int i = 0; i < p->name_count; i++)
    if (strlen(p->names[i]) == length && memcmp(p->names[i], name, length) == 0) return i;
  if (p->name_count == NAMES_MAX) return -1;
  memcpy(p->names[p->name_count], name, length);
  p->names[p->name_count][length] = '\0';
  return p->name_count++;
}

static void judge_old(struct prober *p, nanos until) {
  for (; p->oldest < p->next; p->oldest++) {
    const struct probe *probe = slot(p, p->oldest);
    if (probe->sent_at + ANSWER_LIMIT_NS > until) break;
    if (probe->owner < 0) p->lost++;
  }
}

static void send_probe(struct prober *p) {
  char text[32];
  if (p->next - p->oldest >= p->ring_size) { /* cannot happen while judge_old runs; never overwrite an open probe */
    p->missed++;
    return;
  }
  const int length = snprintf(text, sizeof text, "%" PRIu64, p->next);
  struct probe *probe = slot(p, p->next);
  probe->sequence = p->next++;
  probe->sent_at = now();
  probe->owner = -1;
  ssize_t sent;
  do {
    sent = sendto(p->fd, text, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&p->target,
                  p->target_length);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) p->send_errors++; /* unreachable, for instance: that probe is lost, which is what a client sees */
}

/* Unanswered probes between two answers; older than the ring counts as unanswered. */
static uint64_t unanswered(struct prober *p, uint64_t after, uint64_t before) {
  uint64_t count = 0;
  for (uint64_t sequence = after + 1; sequence < before; sequence++) {
    const struct probe *probe = slot(p, sequence);
    if (probe->sequence != sequence || probe->owner < 0) count++;
  }
  return count;
}

static void report_silence(struct prober *p, nanos until, uint64_t before, bool open) {
  const nanos silence = until - p->last_answer;
  if (silence <= GAP_INTERVALS * p->interval) return;
  const uint64_t lost = unanswered(p, p->last_sequence, before);
  const uint64_t missed = p->missed - p->missed_before;
  if (lost == 0) {
    if (missed > 0)
      line("{\"t\":%.3f,\"event\":\"stall\",\"ms\":%.3f,\"missed\":%" PRIu64 "}", ms(until), ms(silence), missed);
    return;
  }
  p->gaps++;
  if (silence > p->longest_gap) p->longest_gap = silence;
  line("{\"t\":%.3f,\"event\":\"gap\",\"from\":%.3f,\"to\":%.3f,\"ms\":%.3f,\"lost\":%" PRIu64 ",\"missed\":%" PRIu64
       ",\"open\":%s}",
       ms(until), ms(p->last_answer), ms(until), ms(silence), lost, missed, open ? "true" : "false");
}

static void report_duplicate(struct prober *p, nanos at, uint64_t sequence, int first, int second) {
  p->duplicates++;
  if (at - p->duplicate_second >= 1000000000) {
    p->duplicate_second = at;
    p->duplicate_lines = 0;
  }
  if (p->duplicate_lines++ >= DUPLICATE_LINES_PER_S) return;
  line("{\"t\":%.3f,\"event\":\"duplicate\",\"seq\":%" PRIu64 ",\"names\":[\"%s\",\"%s\"]}", ms(at), sequence,
       p->names[first], p->names[second]);
}

static void take_answer(struct prober *p, uint64_t sequence, const char *name, size_t length, nanos at) {
  const int owner = name_index(p, name, length);
  struct probe *probe = slot(p, sequence);
  if (owner < 0 || sequence >= p->next || probe->sequence != sequence) {
    p->strangers++;
    return;
  }
  if (probe->owner >= 0) {
    if (probe->owner != owner) report_duplicate(p, at, sequence, probe->owner, owner);
    return;
  }
  if (sequence < p->oldest || at - probe->sent_at > ANSWER_LIMIT_NS) {
    p->late++;
    if (sequence < p->oldest) return; /* counted as lost already */
  } else {
    probe->owner = owner;
    p->received++;
    p->by_name[owner]++;
  }
  if (p->answered) report_silence(p, at, sequence, false);
  if (owner != p->owner) {
    p->owner = owner;
    line("{\"t\":%.3f,\"event\":\"owner\",\"name\":\"%s\",\"seq\":%" PRIu64 "}", ms(at), p->names[owner], sequence);
  }
  if (!p->answered || at > p->last_answer) p->last_answer = at;
  if (!p->answered || sequence > p->last_sequence) p->last_sequence = sequence;
  p->missed_before = p->missed;
  p->answered = true;
}

static void take_answers(struct prober *p) {
  struct packet packet;
  for (int i = 0; i < DRAIN_MAX && take(p->fd, &packet); i++) {
    const char *const text = (const char *)packet.bytes;
    char *end = NULL;
    errno = 0;
    const unsigned long long sequence = strtoull(text, &end, 10);
    const size_t name_length = *end == ' ' ? strlen(end + 1) : 0;
    /* Only the address that was asked may answer: an answer from another one would hide a broken responder. */
    if (errno != 0 || end == text || !same_address(&packet.from, &p->target) || !plain_name(end + 1, name_length)) {
      p->strangers++;
      continue;
    }
    take_answer(p, sequence, end + 1, name_length, packet.at);
  }
}

static bool under_way(struct prober *p) {
  for (uint64_t sequence = p->answered ? p->last_sequence + 1 : p->oldest; sequence < p->next; sequence++) {
    if (sequence < p->oldest) continue;
    if (slot(p, sequence)->owner < 0) return true;
  }
  return false;
}

static void summarize(struct prober *p, nanos began, nanos ended) {
  if (p->answered) report_silence(p, ended, p->next, true);
  judge_old(p, INT64_MAX);
  printf("{\"t\":%.3f,\"event\":\"summary\",\"sent\":%" PRIu64 ",\"received\":%" PRIu64 ",\"lost\":%" PRIu64
         ",\"longestGapMs\":%.3f,\"gaps\":%" PRIu64 ",\"duplicates\":%" PRIu64 ",\"late\":%" PRIu64
         ",\"missedTicks\":%" PRIu64 ",\"sendErrors\":%" PRIu64 ",\"strangers\":%" PRIu64 ",\"ms\":%.3f,\"byName\":{",
         ms(ended), p->next, p->received, p->lost, ms(p->longest_gap), p->gaps, p->duplicates, p->late, p->missed,
         p->send_errors, p->strangers, ms(ended - began));
  for (int i = 0; i < p->name_count; i++)
    printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", p->names[i], p->by_name[i]);
  line("}}");
}

static int probe(const struct options *options) {
  static struct prober p;
  if (options->count != 3) wrong_usage();
  p.interval = (nanos)(options->interval_us > 0 ? options->interval_us : 1000) * 1000;
  p.target_length = address_of(options->words[1], options->words[2], &p.target);
  p.owner = -1;
  p.ring_size = 1024;
  while ((nanos)p.ring_size * p.interval < 2 * ANSWER_LIMIT_NS + LAST_ANSWERS_NS) p.ring_size *= 2;
  p.ring = calloc(p.ring_size, sizeof *p.ring);
  if (p.ring == NULL) fail("get memory");
  for (uint64_t i = 0; i < p.ring_size; i++) p.ring[i].sequence = UINT64_MAX;
  p.fd = open_client(&p.target);
  if (options->fifo) ask_for_fifo();

  const int signals = end_signals();
  const nanos began = now();
  const nanos end = options->duration_ms > 0 ? began + (nanos)options->duration_ms * 1000000 : INT64_MAX;
  nanos ended = INT64_MAX; /* no more probes after it */
  struct pollfd watched[3] = {{.fd = open_ticks(began + p.interval, p.interval), .events = POLLIN, .revents = 0},
                              {.fd = p.fd, .events = POLLIN, .revents = 0},
                              {.fd = signals, .events = POLLIN, .revents = 0}};
  line("{\"t\":%.3f,\"event\":\"start\",\"intervalUs\":%" PRId64 "}", ms(began), p.interval / 1000);
  for (;;) {
    if (poll(watched, 3, 100) < 0 && errno != EINTR) fail("poll");
    const uint64_t due = expired(watched[0].fd);
    const nanos time = now();
    if (ended == INT64_MAX && (time >= end || watched[2].revents != 0)) ended = time;
    if (due > 0 && ended == INT64_MAX) {
      p.missed += due - 1;
      send_probe(&p);
    }
    take_answers(&p);
    judge_old(&p, time);
    if (ended != INT64_MAX && (time >= ended + LAST_ANSWERS_NS || !under_way(&p))) break;
    if (ended != INT64_MAX) watched[2].fd = -1;
  }
  summarize(&p, began, ended);
  free(p.ring);
  return EXIT_SUCCESS;
}

/* ---- arp ---- */

struct mac {
  unsigned char bytes[ETH_ALEN];
};

struct claims {
  struct mac macs[MACS_MAX];
  nanos first[MACS_MAX];
  int count;
};

struct observer {
  struct question question;
  const char *address;
  struct claims round; /* answers to the latest question */
  struct claims previous; /* answers to the one before */
  struct claims total;
  uint64_t answers[MACS_MAX];
  uint64_t rounds, answered_rounds, announcements, send_errors;
  nanos asked_at;
  nanos overlap;
};

static int claim_index(const struct claims *claims, const unsigned char *mac) {
  for (int i = 0; i < claims->count; i++)
    if (memcmp(claims->macs[i].bytes, mac, ETH_ALEN) == 0) return i;
  return -1;
}

static int add_claim(struct claims *claims, const unsigned char *mac, nanos at) {
  const int known = claim_index(claims, mac);
  if (known >= 0 || claims->count == MACS_MAX) return known;
  memcpy(claims->macs[claims->count].bytes, mac, ETH_ALEN);
  claims->first[claims->count] = at;
  return claims->count++;
}

static const char *mac_text(const unsigned char *mac, char text[18]) {
  (void)snprintf(text, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
  return text;
}

/* When something new answered, that moment; when something fell silent, the question that it left unanswered. */
static void report_claims(struct observer *o) {
  char text[18];
  nanos at = o->asked_at;
  bool changed = o->round.count != o->previous.count;
  for (int i = o->round.count - 1; i >= 0; i--)
    if (claim_index(&o->previous, o->round.macs[i].bytes) < 0) {
      at = o->round.first[i];
      changed = true;
    }
  if (!changed) return;
  printf("{\"t\":%.3f,\"event\":\"claim\",\"mac\":", ms(at));
  if (o->round.count > 0)
    printf("\"%s\"", mac_text(o->round.macs[0].bytes, text));
  else
    printf("null");
  printf(",\"macs\":[");
  for (int i = 0; i < o->round.count; i++)
    printf("%s\"%s\"", i > 0 ? "," : "", mac_text(o->round.macs[i].bytes, text));
  line("],\"address\":\"%s\"}", o->address);
}

static void finish_round(struct observer *o, nanos at) {
  if (o->rounds == 0) return;
  report_claims(o);
  if (o->round.count > 0) o->answered_rounds++;
  if (o->round.count > 1) o->overlap += at - o->asked_at;
  o->previous = o->round;
}

static void ask(struct observer *o) {
  o->asked_at = now();
  o->round.count = 0;
  o->rounds++;
  if (!ask_everybody(&o->question)) o->send_errors++;
}

static void take_claim(struct observer *o, const unsigned char *mac, nanos at) {
  (void)add_claim(&o->round, mac, at);
  const int index = add_claim(&o->total, mac, at);
  if (index >= 0) o->answers[index]++;
}

static void take_announcement(struct observer *o, const unsigned char *mac, nanos at) {
  char text[18];
  o->announcements++;
  line("{\"t\":%.3f,\"event\":\"announce\",\"mac\":\"%s\",\"address\":\"%s\"}", ms(at), mac_text(mac, text),
       o->address);
}

static void take_claims(struct observer *o) {
  struct packet packet;
  for (int i = 0; i < DRAIN_MAX && take(o->question.fd, &packet); i++) {
    const unsigned char *mac = NULL;
    switch (said_of(&o->question, &packet, &mac)) {
      case SAID_CLAIM:
        take_claim(o, mac, packet.at);
        break;
      case SAID_ANNOUNCEMENT:
        take_announcement(o, mac, packet.at);
        break;
      case SAID_NOTHING:
        break;
    }
  }
}

static void summarize_claims(const struct observer *o, nanos began, nanos ended) {
  char text[18];
  printf("{\"t\":%.3f,\"event\":\"summary\",\"rounds\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"overlapMs\":%.3f"
         ",\"announcements\":%" PRIu64 ",\"sendErrors\":%" PRIu64 ",\"ms\":%.3f,\"byMac\":{",
         ms(ended), o->rounds, o->answered_rounds, ms(o->overlap), o->announcements, o->send_errors, ms(ended - began));
  for (int i = 0; i < o->total.count; i++)
    printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", mac_text(o->total.macs[i].bytes, text), o->answers[i]);
  line("}}");
}

static int arp(const struct options *options) {
  static struct observer o;
  if (options->count != 3) wrong_usage();
  o.address = options->words[2];
  open_question(&o.question, options->words[1], o.address);
  const nanos interval = (nanos)(options->interval_us > 0 ? options->interval_us : 10000) * 1000;
  if (options->fifo) ask_for_fifo();
  const int signals = end_signals();
  const nanos began = now();
  const nanos end = options->duration_ms > 0 ? began + (nanos)options->duration_ms * 1000000 : INT64_MAX;
  struct pollfd watched[3] = {{.fd = open_ticks(began + interval, interval), .events = POLLIN, .revents = 0},
                              {.fd = o.question.fd, .events = POLLIN, .revents = 0},
                              {.fd = signals, .events = POLLIN, .revents = 0}};
  line("{\"t\":%.3f,\"event\":\"start\",\"intervalUs\":%" PRId64 "}", ms(began), interval / 1000);
  for (;;) {
    if (poll(watched, 3, 100) < 0 && errno != EINTR) fail("poll");
    take_claims(&o);
    const nanos time = now();
    const bool over = time >= end || watched[2].revents != 0;
    if (over || expired(watched[0].fd) > 0) {
      finish_round(&o, time);
      if (over) {
        summarize_claims(&o, began, time);
        return EXIT_SUCCESS;
      }
      ask(&o);
    }
  }
}

/* ---- main ---- */

static struct options read_options(int count, char **arguments) {
  struct options options;
  memset(&options, 0, sizeof options);
  for (int i = 1; i < count; i++) {
    const char *const word = arguments[i];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      fputs(usage_text, stdout);
      exit(EXIT_SUCCESS);
    }
    if (strncmp(word, "--", 2) != 0) {
      if (options.count == 3) wrong_usage();
      options.words[options.count++] = word;
    } else if (strcmp(word, "--fifo") == 0) {
      options.fifo = true;
    } else {
      if (i + 1 >= count) wrong_usage();
      const char *const value = arguments[++i];
      if (strcmp(word, "--bind") == 0)
        options.bind = value;
      else if (strcmp(word, "--interval-us") == 0)
        options.interval_us = number_in(value, 50, 60000000);
      else if (strcmp(word, "--interval-ms") == 0)
        options.interval_us = 1000 * number_in(value, 1, 60000);
      else if (strcmp(word, "--duration-ms") == 0)
        options.duration_ms = number_in(value, 1, 1000000000);
      else
        wrong_usage();
    }
  }
  return options;
}

int main(int count, char **arguments) {
  const struct options options = read_options(count, arguments);
  if (options.count == 0) wrong_usage();
  if (strcmp(options.words[0], "respond") == 0) return respond(&options);
  if (strcmp(options.words[0], "probe") == 0) return probe(&options);
  if (strcmp(options.words[0], "arp") == 0) return arp(&options);
  wrong_usage();
}
