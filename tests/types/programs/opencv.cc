// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A model of the background of a film, and the last frames: matrices of OpenCV.
#include "crochet/opencv.h"

#include <random>
#include <vector>

#include <opencv2/core.hpp>

#include "tests/types/programs/program.h"

int main(int, char** argv) {
  cv::Mat background(30, 40, CV_32FC3, cv::Scalar(0, 0, 0));
  std::vector<cv::Mat> recent;
  cv::Vec3d total(0, 0, 0);
  std::mt19937 rng(1);

  crochet::Loop loop(options_of(argv));
  loop.track("background", background);
  loop.track("recent", recent);
  loop.track("total", total);
  loop.track("rng", rng);
  const auto report = loop.run([&] {
    cv::Mat frame(30, 40, CV_8UC3, cv::Scalar(0, 0, 0));
    for (auto& pixel : cv::Mat_<cv::Vec3b>(frame)) pixel[rng() % 3] = static_cast<uchar>(rng());
    cv::Mat wide;
    frame.convertTo(wide, CV_32FC3);
    background = 0.95 * background + 0.05 * wide;
    recent.push_back(frame);
    if (recent.size() > 8) recent.erase(recent.begin());
    const cv::Scalar mean = cv::mean(background);
    total += cv::Vec3d(mean[0], mean[1], mean[2]);
  });

  Digest digest;
  digest.add(background.ptr<float>(), background.total() * 3);
  for (const cv::Mat& frame : recent) digest.add(frame.ptr<uchar>(), frame.total() * 3);
  digest.add(total.val, 3);
  digest.print();
  return report.exit_code();
}
