/* SPDX-License-Identifier: Apache-2.0 */
/* See programs.h. */
#include "programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_SIZE 4u

struct program programs[MOST_PROGRAMS];
unsigned program_count;

void set_number(unsigned char number) {
  for (unsigned i = 0; i < program_count; i++)
    if (programs[i].number != NULL) (void)snprintf(programs[i].number, NUMBER_SIZE, "%u", number);
}

static bool add_program(char **words, unsigned long count, bool numbered) {
  if (program_count == MOST_PROGRAMS) return false;
  struct program *program = &programs[program_count++];
  program->words = calloc(count + 2, sizeof *program->words);
  if (program->words == NULL) return false;
  memcpy(program->words, words, count * sizeof *words);
  if (!numbered) return true;
  program->number = calloc(1, NUMBER_SIZE);
  if (program->number == NULL) return false;
  program->words[count] = program->number;
  set_number(0);
  return true;
}

bool read_programs(int count, char **arguments, int at) {
  while (at + 1 < count) {
    const bool numbered = strcmp(arguments[at], "--numbered") == 0;
    if (!numbered && strcmp(arguments[at], "--program") != 0) return false;
    char *end = NULL;
    const unsigned long words = strtoul(arguments[at + 1], &end, 10);
    at += 2;
    if (*end != '\0' || words == 0 || words > (unsigned long)(count - at)) return false;
    if (!add_program(arguments + at, words, numbered)) return false;
    at += (int)words;
  }
  return at == count && program_count > 0;
}
