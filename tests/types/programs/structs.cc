// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Bodies under gravity, in structs of which crochet knows nothing: their members are found.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tests/types/programs/program.h"

// A header of a library, as it is.
namespace orbits {

struct Vector {
  double x, y, z;
};
struct Body {
  std::string name;
  Vector place;
  Vector speed;
  double mass;
};
struct Settings {
  double step = 0.001;
  struct {
    bool softened = true;
    std::array<double, 2> limits = {0.01, 100};
  } forces;
};
struct System {
  Settings settings;
  std::vector<Body> bodies;
  double time = 0;
};

inline void advance(System& system) {
  for (Body& body : system.bodies)
    for (const Body& other : system.bodies) {
      if (&body == &other) continue;
      const double x = other.place.x - body.place.x, y = other.place.y - body.place.y,
                   z = other.place.z - body.place.z;
      const double squared = x * x + y * y + z * z + system.settings.forces.limits[0];
      const double pull = system.settings.step * other.mass / (squared * std::sqrt(squared));
      body.speed.x += pull * x;
      body.speed.y += pull * y;
      body.speed.z += pull * z;
    }
  for (Body& body : system.bodies) {
    body.place.x += system.settings.step * body.speed.x;
    body.place.y += system.settings.step * body.speed.y;
    body.place.z += system.settings.step * body.speed.z;
  }
  system.time += system.settings.step;
}

}  // namespace orbits

int main(int, char** argv) {
  orbits::System system;
  for (int i = 0; i < 8; ++i) {
    const double angle = 0.8 * i, distance = i + 1;
    system.bodies.push_back({.name = "body " + std::to_string(i),
                             .place = {distance * std::cos(angle), distance * std::sin(angle), 0},
                             .speed = {-std::sin(angle), std::cos(angle), 0.01 * i},
                             .mass = 1.0 / (i + 1)});
  }

  crochet::Loop loop(options_of(argv));
  loop.track("system", system);
  const auto report = loop.run([&] { orbits::advance(system); });

  Digest digest;
  for (const orbits::Body& body : system.bodies) {
    digest.add(body.name);
    digest.add_value(body.place);
    digest.add_value(body.speed);
  }
  digest.add_value(system.time);
  digest.print();
  return report.exit_code();
}
