// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A program of C that became a crochet::Loop: globals, arrays, plain structs. What follows the
// functions is all that was added to it.
//
//   c_style STEPS
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <math.h>
#include <stdio.h>

#define NUM_BODIES 3

typedef struct {
  double position[3];
  double velocity[3];
  float mass;
} Body;

static Body bodies[NUM_BODIES];
static double inertia[3][3];
static unsigned char is_heavy[NUM_BODIES];
static char phase[16];
static long long num_collisions;
static unsigned short random_state[3] = {1, 2, 3};
static struct {
  int count;
  double energy[64];
} history;

static void set_up(void) {
  for (int b = 0; b < NUM_BODIES; ++b) {
    bodies[b].mass = 1.0f + static_cast<float>(b);
    is_heavy[b] = b == 2;
    for (int i = 0; i < 3; ++i) bodies[b].position[i] = erand48(random_state) - 0.5;
  }
  strcpy(phase, "begin");
}

static void advance_one_step(void) {
  double energy = 0;
  for (int b = 0; b < NUM_BODIES; ++b)
    for (int i = 0; i < 3; ++i) {
      double* v = &bodies[b].velocity[i];
      *v += -0.01 * bodies[b].position[i] + 1e-4 * (erand48(random_state) - 0.5);
      bodies[b].position[i] += 0.01 * *v;
      energy += bodies[b].mass * *v * *v / 2;
      for (int j = 0; j < 3; ++j) inertia[i][j] += bodies[b].position[i] * bodies[b].position[j];
    }
  if (energy > 1e-4) ++num_collisions;
  history.energy[history.count++ % 64] = energy;
  if (history.count == 700) strcpy(phase, "middle");
  const struct timespec pause = {0, 1000000};
  nanosleep(&pause, NULL);
}

static void print_result(void) {
  for (int b = 0; b < NUM_BODIES; ++b)
    printf("%.17g %.17g %.9g %d\n", bodies[b].position[0], bodies[b].velocity[2],
           static_cast<double>(bodies[b].mass), is_heavy[b]);
  printf("%.17g %.17g %lld %s %d %.17g\n", inertia[0][0], inertia[2][1], num_collisions, phase,
         history.count, history.energy[17]);
}

#include <crochet/crochet.h>

void track(crochet::Tracker& tracker, Body& body) {
  tracker("position", body.position)("velocity", body.velocity)("mass", body.mass);
}

int main(int, char** argv) {
  set_up();
  crochet::Loop loop({.checkpoint = {.dir = "runs/bodies", .every_steps = 100},
                      .hooks = {crochet::StopAtStepHook({.last_step = atoll(argv[1])})}});
  loop.track("bodies", bodies);
  loop.track("inertia", inertia);
  loop.track("is_heavy", is_heavy);
  loop.track("phase", phase);
  loop.track("num_collisions", num_collisions);
  loop.track("random_state", random_state);
  loop.track("history/count", history.count);
  loop.track("history/energy", history.energy);
  const crochet::RunReport report = loop.run(advance_one_step);
  fprintf(stderr, "%s\n", to_string(report).c_str());
  print_result();
}
