// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Words that are made up, counted and forgotten, in containers of Boost.
#include <string>
#include <utility>

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <boost/unordered_map.hpp>

#include "tests/types/programs/program.h"

struct Word {
  int count = 0;
  boost::container::small_vector<int64_t, 2> seen;
};

int main(int, char** argv) {
  boost::container::flat_map<std::string, Word> words;
  boost::unordered_map<std::string, double> weights;
  boost::container::static_vector<std::string, 5> newest;
  uint32_t noise = 1;
  int64_t time = 0;

  crochet::Loop loop(options_of(argv));
  loop.track("words", words);
  loop.track("weights", weights);
  loop.track("newest", newest);
  loop.track("noise", noise);
  loop.track("time", time);
  const auto report = loop.run([&] {
    std::string word;
    for (int i = 0; i < 2; ++i) {
      noise = noise * 1664525 + 1013904223;
      word += static_cast<char>('a' + (noise >> 24) % 8);
    }
    ++words[word].count;
    words[word].seen.push_back(time++);
    weights[word] = 0.9 * weights[word] + 1;
    if (newest.size() == newest.capacity()) newest.erase(newest.begin());
    newest.push_back(word);
    if (words[word].count > 30) {
      words.erase(word);
      weights.erase(word);
    }
  });

  Digest digest;
  for (const auto& [word, about] : words) {
    digest.add(word);
    digest.add_value(about.count);
    digest.add(about.seen.data(), about.seen.size());
    digest.add_value(weights[word]);
  }
  for (const std::string& word : newest) digest.add(word);
  digest.print();
  return report.exit_code();
}
