// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"
#include "crochet/libtorch/join.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace crochet::inline v0::libtorch {

struct DataParallelOptions {
  // Gradients are sent in buckets of about this size: the first ones while backward() computes the
  // others.
  size_t bucket_bytes = size_t{25} << 20;
  // After each step all ranks get the buffers of rank 0, such as the statistics of batch norm.
  bool broadcast_buffers = true;
  // The most seconds that a rank waits for the others; the group's limit if unset.
  std::optional<double> timeout_secs = {};
  // Where the other ranks reach rank 0; MASTER_ADDR if empty, or else the name of its machine.
  std::string host = {};
  // Exchanges what is on its kind of device, such as NCCL. All ranks have one, or none.
  TensorBackend backend = {};
};

// Trains one module in all ranks of a group, each with its own part of the batch: gradients are
// averaged over the ranks, so that all make the same update.
//
//   const std::shared_ptr<Group> group = libtorch::join();
//   // Before loop.run(). All ranks then have the net of rank 0.
//   libtorch::DataParallel parallel(*net, group);
//   loop.run([&] {
//     adam.zero_grad();
//     loss_of(net, my_part_of_the_batch()).backward();
//     parallel.finish();
//     adam.step();
//   });
//
// With a loss that is a mean, and parts of the same size, the gradients are those of the whole
// batch, to rounding. All ranks have the same bits after each step. A parameter without a gradient
// in some ranks counts as zeros there; one without a gradient in any rank has none afterwards
// either.
//
// The parameters' gradients are exchanged through the CPU's memory, by Gloo, unless there is a
// backend for their device: then they are sent from there, and finish() does not wait for it. The
// forward and backward passes of a step and finish() use the same stream of a device.
//
// For one thread. A loss of another rank is an error of finish(), never the end of the process.
// After an error the object throws it again, and has left the group: the processes are to be
// restarted.
class CROCHET_EXPORT DataParallel {
 public:
  // Called by all ranks of the group. Compares names, shapes, types and order of all parameters and
  // buffers with those of rank 0, and then adopts its values.
  // Throws: InvalidArgumentError in all ranks, which names the first rank that differs and what
  // differs, or for a type that cannot be sent; UnavailableError; DeadlineExceededError; what the
  // group throws.
  DataParallel(torch::nn::Module& module, std::shared_ptr<Group> group,
               const DataParallelOptions& options = {});
  // Abandons an exchange that has begun.
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // Waits for the averaged gradients. To be called by all ranks after each backward(), before the
  // optimizer.
  // Throws: UnavailableError if another rank is lost, DeadlineExceededError if it does not respond;
  // FailedPreconditionError during no_sync(), after two backward() without no_sync() in between,
  // and for a parameter that has changed its type since.
  void finish();

  // While this exists, backward() only adds to the gradients of this rank:
  //
  //   {
  //     const libtorch::DataParallel::NoSync guard = parallel.no_sync();
  //     loss_of(first_part).backward();
  //   }
  //   loss_of(second_part).backward();
  //   parallel.finish();  // Sends the sums.
  class State;
  class CROCHET_EXPORT NoSync {
   public:
    explicit NoSync(std::shared_ptr<State> state);
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    const std::shared_ptr<State> state_;
  };
  [[nodiscard]] NoSync no_sync();

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace crochet::inline v0::libtorch
