/*
 * The guardian's readers under libFuzzer and AddressSanitizer: orders of an engine that says anything, and acknowledgements
 * of a kernel that does. What was taken is renewed and executed as well, into sockets that are not there: only so is every
 * length of a will used. Every message is in memory of exactly its size, so that one octet too many is seen.
 *
 * An input: octet 0 even: orders, each behind two octets of its length (little endian), with the top bit "and its word is
 * armed"; odd: one datagram of acknowledgements, behind a count and a first sequence number.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Nobody reads the log, waits or listens here: a line costs more than an input. */
static int no_poll(struct pollfd *fds, nfds_t count, int limit) {
  (void)fds, (void)count, (void)limit;
  return 0;
}
static int no_socket(int family, int type, int protocol) {
  (void)family, (void)type, (void)protocol;
  return -1;
}
#define poll no_poll
#define socket no_socket
#define main guardian_main
#include "../guardian.c"
#undef main

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
  if (!holds) abort();
}

static unsigned char *copy_of(const uint8_t *data, size_t size) {
  unsigned char *const copy = malloc(size == 0 ? 1 : size);
  require(copy != NULL);
  memcpy(copy, data, size);
  return copy;
}

/* The list and the table say the same, and every will is what it was checked to be. */
static void look_at_wills(void) {
  size_t count = 0;
  const struct will *before = NULL;
  for (const struct will *will = first_will; will != NULL; before = will, will = will->next) {
    require(will->previous == before && by_unit[will->unit] == will && ++count <= UNITS);
    require(check_will(will->bytes, will->size, will->body, (uint64_t)will->requests + will->renewals, will->packets) == NULL);
    require(will->part == LEAVE);
  }
  require(last_will == before);
}

static void run_orders(const uint8_t *data, size_t size) {
  for (size_t at = 0; size - at >= 2;) {
    const bool armed = (data[at + 1] & 0x80) != 0;
    size_t length = data[at] | (size_t)(data[at + 1] & 0x7f) << 8;
    at += 2;
    if (length > size - at) length = size - at;
    unsigned char *const order = copy_of(data + at, length);
    const char *const fault = obey(order, length);
    if (fault != NULL) require(fault[0] != '\0');
    if (fault == NULL && armed && order[1] == KIND_GUARD) {
      const struct will *const will = by_unit[u16_at(order + 2)];
      require(will != NULL && will->guarded);
      words->unit[will->unit].word = will->generation << WORD_GENERATION | WORD_ARMED;
      words->unit[will->unit].deadline = 1;
    }
    free(order);
    look_at_wills();
    at += length;
  }
  renew_all(UINT64_MAX / 2);
  for (struct will *will = first_will; will != NULL; will = will->next) {
    if (will->guarded && !claim(will)) continue;
    will->part = will->unit % 2 == 0 ? EVERYTHING : ADDRESSES_ONLY;
  }
  execute_wills(0, "a fuzzer");
  look_at_wills();
  while (first_will != NULL) {
    memset(&words->unit[first_will->unit], 0, sizeof words->unit[0]);
    forget(first_will->unit);
  }
}

static void run_acks(const uint8_t *data, size_t size) {
  static struct errors errors;
  static struct batch batch;
  struct counts counts;
  if (size < 2) return;
  memset(&counts, 0, sizeof counts);
  memset(&batch, 0, sizeof batch);
  errors.length = 0;
  batch.count = data[0] % (BATCH_REQUESTS + 1);
  batch.first = (uint32_t)data[1] - 8; /* around 0: sequence numbers come round */
  unsigned char *const bytes = copy_of(data + 2, size - 2);
  const int taken = take_acks(&counts, &errors, &batch, bytes, size - 2);
  require(taken >= 0 && taken <= batch.count);
  require((unsigned)taken == counts.done + counts.absent + counts.failed && errors.length < sizeof errors.text);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (words == NULL) {
    words = calloc(1, sizeof *words);
    require(words != NULL);
  }
  if (size == 0) return 0;
  if (data[0] % 2 == 0)
    run_orders(data + 1, size - 1);
  else
    run_acks(data + 1, size - 1);
  return 0;
}
