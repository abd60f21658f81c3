/* Copyright 2026 The crochet authors
   SPDX-License-Identifier: Apache-2.0

   crochet/c.h as a program in C99 uses it: program <directory> <last step>. */
#include <crochet/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, crochet_last_error());
  return 1;
}

static int count_event(void* context, int64_t life, int64_t step, double time, const char* event) {
  (void)step;
  (void)time;
  if (strcmp(event, "start") == 0) *(int64_t*)context = life;
  return 0;
}

int main(int argc, char** argv) {
  float weights[3] = {0, 0, 0};
  int64_t count = 0, step = 0, lives = 0;
  const int64_t sizes[] = {3};
  double loss = 1;
  int exit_code = 0, rank = 0;
  crochet_loop* loop = NULL;
  crochet_checkpoint* checkpoint = NULL;
  float read[3];

  if (argc != 3) return 2;
  if (crochet_loop_new(argv[1], &loop) != CROCHET_OK) return fail("new");
  if (crochet_loop_set(loop, "checkpoint.every_steps", "50") != CROCHET_OK) return fail("set");
  if (crochet_loop_add_hook(loop, "StopAtStepHook", argv[2]) != CROCHET_OK) return fail("hook");
  if (crochet_loop_add_hook(loop, "NanTensorHook", "loss") != CROCHET_OK) return fail("hook");
  if (crochet_loop_scalar(loop, "loss", &loss) != CROCHET_OK) return fail("scalar");
  if (crochet_loop_track(loop, "weights", weights, CROCHET_FLOAT32, 1, sizes) != CROCHET_OK)
    return fail("track");
  if (crochet_loop_track(loop, "count", &count, CROCHET_INT64, 0, NULL) != CROCHET_OK)
    return fail("track");
  if (crochet_loop_start(loop, &step) != CROCHET_OK) return fail("start");
  if (step != count) return 3;
  while (!crochet_loop_should_stop(loop)) {
    ++count;
    weights[count % 3] += 1.0f / (float)count;
    loss = 1.0 / (double)count;
    if (crochet_loop_end_step(loop) != CROCHET_OK) return fail("step");
  }
  if (crochet_loop_finish(loop, &step, &exit_code) != CROCHET_OK) return fail("finish");
  crochet_loop_free(loop);

  if (crochet_checkpoint_open(argv[1], -1, &checkpoint) != CROCHET_OK) return fail("open");
  if (crochet_checkpoint_describe(checkpoint, "weights", NULL, &rank, NULL) != CROCHET_OK)
    return fail("describe");
  if (crochet_checkpoint_read(checkpoint, "weights", read, sizeof read) != CROCHET_OK)
    return fail("read");
  crochet_checkpoint_close(checkpoint);
  if (rank != 1 || memcmp(read, weights, sizeof read) != 0) return 4;
  if (crochet_journal_read(argv[1], count_event, &lives) != CROCHET_OK) return fail("journal");
  printf("step %ld of life %ld: %a %a %a\n", (long)step, (long)lives, (double)weights[0],
         (double)weights[1], (double)weights[2]);
  return exit_code;
}
