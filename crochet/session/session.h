// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/base/read_bytes.h"
#include "crochet/session/fetches.h"
#include "crochet/session/graph.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

// How much a run records about itself; each level includes those below it. The numbers
// are TensorFlow's (RunOptions.TraceLevel in config.proto).
enum class TraceLevel { kNone = 0, kSoftware = 1, kHardware = 2, kFull = 3 };

// Options of a run, apart from what it computes. Engines ignore those they do not support.
struct RunOptions {
  // From kSoftware on, the run times its operations.
  TraceLevel trace_level = TraceLevel::kNone;
  // After this time the run fails with a DeadlineExceededError; 0: no limit. Not every engine
  // interrupts an operation that has begun.
  int64_t timeout_in_ms = 0;
  // Which of the engine's thread pools runs it.
  int inter_op_thread_pool = 0;
  // Requests RunMetadata::partition_graphs.
  bool output_partition_graphs = false;
  // Requests a list of live tensors in the error message if memory runs out.
  bool report_tensor_allocations_upon_oom = false;
  // Values that a debugger of the engine watches, in the engine's notation, and whether
  // its count of disk usage is reset to zero.
  std::vector<std::string> debug_tensor_watches = {};
  bool reset_disk_byte_usage = false;

  friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

// Merges `more` into `options`: takes the larger of two numbers, sets a switch if either is set,
// and appends the watches of `more`.
CROCHET_EXPORT void merge(RunOptions& options, const RunOptions& more);

// When one operation ran.
struct OperationTiming {
  std::string name;
  // The operations that produced its inputs: "dense", "dense:1", "^init".
  std::vector<std::string> inputs = {};
  // Where it ran, as the engine names it: "/local", "/job:worker/task:1/device:CPU:0".
  std::string device = {};
  // Distinguishes the threads of a device.
  int64_t thread = 0;
  std::chrono::nanoseconds start = {};  // Since the run began.
  std::chrono::nanoseconds duration = {};
  // Of the values it produced.
  int64_t output_bytes = 0;
};

// What a run recorded about itself.
struct RunMetadata {
  // Keeps the memory.
  void clear() {
    start_time = 0;
    operations.clear();
    partition_graphs.clear();
  }

  // When the run began: seconds since 1970-01-01 UTC. 0 if nothing was timed.
  double start_time = 0;
  // In the order in which they began; empty unless the run's options request a trace.
  std::vector<OperationTiming> operations = {};
  // The graphs that were run, each in the engine's own format, if the options request them.
  std::vector<std::string> partition_graphs = {};
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// A value changed, but its writer did not announce that, though snapshots rely on it.
class CROCHET_EXPORT UnannouncedWriteError : public FailedPreconditionError {
 public:
  using FailedPreconditionError::FailedPreconditionError;
};

// Copies for a snapshot that are still being made, or that are only made if they are needed.
//
// Thread-safe.
class CROCHET_EXPORT PendingCopies {
 public:
  virtual ~PendingCopies() = default;
  // Blocks until all are made. Throws the error that stopped them.
  virtual void wait() = 0;
  // Blocks until each tensor that they fill has its elements, or is_pending(). By default wait().
  virtual void wait_until_readable() { wait(); }
  // True if they fill this tensor, whose elements can be read only by read() so far.
  virtual bool is_pending(const Tensor&) const { return false; }
  // Reads bytes of the elements as ReadBytes does, whether they are copied meanwhile or not.
  // Requires: is_pending() was true. Throws the error that stopped the copies.
  virtual void read(const Tensor&, size_t /*begin*/, std::span<std::byte> /*into*/) {}
  // A number for the elements of a tensor that they fill: the same number in two snapshots of this
  // process means the same elements. 0 if they do not fill it, or cannot tell.
  virtual uint64_t version_of(const Tensor&) const { return 0; }
  // A tensor that they fill has other elements than one of the same version, so a write to it was
  // not announced: later snapshots must not rely on announcements.
  virtual void record_unannounced_write(const Tensor&) noexcept {}
  // Called once all tensors of the snapshot are readable. Throws: FailedPreconditionError that
  // names values that are not of one step, as far as the engine can tell; UnannouncedWriteError
  // if that is why.
  virtual void verify() const {}
  // Called after that, before the checkpoint with this prefix is published: has what the checkpoint
  // refers to outside of its tensors survive a power cut. Called again for another attempt. Throws
  // the file system's error.
  virtual void make_durable(const std::string& /*checkpoint*/) {}
};

// The state between two steps: named tensors that do not change, in no particular
// order. An engine may still be filling some of their memory; then tensors()
// waits.
//
// A value; copies share the tensors. As thread-safe as a plain value.
class CROCHET_EXPORT Snapshot {
 public:
  Snapshot() = default;
  explicit Snapshot(std::vector<NamedTensor> tensors, std::shared_ptr<PendingCopies> copies = {});

  // Adds a tensor captured separately at the same step.
  void add(NamedTensor tensor);

  // Adds copies that fill some of the tensors; null if there are none.
  void add(std::shared_ptr<PendingCopies> copies);

  // The graph as bytes, for the `.meta` file of the checkpoint; null if there is none.
  void set_meta_graph(std::shared_ptr<const std::string> bytes) { meta_graph_ = std::move(bytes); }
  const std::string* meta_graph() const { return meta_graph_.get(); }

  // True if it has no tensors.
  bool empty() const { return tensors_.empty(); }

  // For savers: the tensors, of which some may have no elements yet, and need none if they are read
  // by pending(). Throws the error that stopped a copy.
  const std::vector<NamedTensor>& readable() const&;
  const std::vector<NamedTensor>& readable() && = delete;  // It would dangle.
  // The same without waiting: their elements may not be there yet.
  const std::vector<NamedTensor>& unread() const& { return tensors_; }
  const std::vector<NamedTensor>& unread() && = delete;
  // How to read the elements of one of them if it has none yet; otherwise empty. The result is
  // valid as long as this snapshot.
  ReadBytes pending(const Tensor& tensor) const;

  // For savers: a number for the elements of one of them; see PendingCopies, and Tensor::version().
  // 0 if nothing can tell whether they are those of another snapshot.
  uint64_t version_of(const Tensor& tensor) const;

  // For savers: one of them has other elements than a tensor that had the same version.
  void record_unannounced_write(const Tensor& tensor) const noexcept;

  // For savers: nothing needs the elements any more. The copies that are not made yet need not be.
  std::vector<std::shared_ptr<PendingCopies>> take_copies();

  // For engines that check what programs promise: savers then take nothing as unchanged without
  // comparing its elements.
  void distrust() { is_trusted_ = false; }
  bool is_trusted() const { return is_trusted_; }

  // Waits until all copies are made. Throws the error that stopped a copy.
  const std::vector<NamedTensor>& tensors() const& {
    wait();
    return tensors_;
  }
  // Of a temporary, by value: a reference would dangle.
  std::vector<NamedTensor> tensors() && {
    wait();
    return std::move(tensors_);
  }
  // Throws: FailedPreconditionError that names a tensor whose memory was opened for writing since
  // the snapshot was taken, as its version number shows, or as the engine reports. Savers call it
  // before they publish: a state torn between steps is an error and is never published.
  void verify() const;
  // For savers, after verify(): as PendingCopies::make_durable().
  void make_durable(const std::string& checkpoint) const;
  // The bytes of all elements; does not wait.
  size_t num_bytes() const {
    size_t sum = 0;
    for (const NamedTensor& entry : tensors_) sum += entry.tensor.num_bytes();
    return sum;
  }

 private:
  void wait() const;

  std::vector<NamedTensor> tensors_;
  std::vector<uint64_t> versions_;  // By tensor, when the snapshot was taken.
  std::vector<std::shared_ptr<PendingCopies>> copies_;
  std::shared_ptr<const std::string> meta_graph_;
  bool is_trusted_ = true;
};

// A new value for a variable.
struct Assignment {
  Variable variable;
  // The value's shape. Requires: compatible with the variable's.
  Shape shape;
  // Writes the value, row-major, into all of the memory passed to it: the variable's
  // own memory if that is in this process and row-major.
  std::function<void(std::span<std::byte>)> fill = {};
  // Returns the value, for a variable of strings, which has no bytes to fill.
  std::function<Tensor()> strings = {};
};

// Runs a graph: the interface between crochet and an engine. Engines implement
// the virtual functions; hooks, savers and wrappers use nothing else of an engine.
// The suite in testing/session_contract.h states the full contract.
//
// run() may be called from several threads. snapshot() and assign() exclude
// each other and runs that change variables. From within a running operation all of them
// throw FailedPreconditionError.
class CROCHET_EXPORT Session {
 public:
  virtual ~Session() = default;

  virtual Graph& graph() const = 0;
  virtual const std::string& target() const = 0;

  // Computes what `fetches` need, each operation at most once, and puts the
  // value of fetches[i] into results[i]; unset for an operation without a value.
  // What the run records goes to `metadata`, which is emptied first, unless that is null.
  // Requires: both spans have the same length.
  // Throws: FailedPreconditionError on a closed session; InvalidArgumentError for a fed value of
  // the wrong type or shape, or the same output fed twice; DeadlineExceededError after
  // the options' timeout; what an operation threw, with its type unchanged.
  virtual void run_into(std::span<const Output> fetches, const Feeds& feeds,
                        std::span<Tensor> results, const RunOptions& options,
                        RunMetadata* metadata) = 0;

  // The current values of these variables; later runs do not change them. Must be
  // cheap for the caller, which is the training thread between two steps.
  virtual Snapshot snapshot(std::span<const Variable> variables) = 0;

  // True if it is certain that the run that has just thrown has changed no variable. An engine that
  // cannot know says no.
  virtual bool is_unchanged_by_error() const { return false; }

  // Gives many variables new values. An exception of a `fill` or `strings` ends the call and
  // leaves its variable, and those after it, undefined.
  virtual void assign(std::span<const Assignment> assignments) = 0;

  // Ends the session; runs in flight end first. Calling it again does nothing.
  virtual void close() = 0;

  // Like run_into, for requests of any structure. Names are looked up in the graph.
  FetchValues run(const Fetches& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                  RunMetadata* metadata = nullptr);

  // Read or assign one variable, by its name in checkpoints, through snapshot() and assign().
  //
  //   Tensor rate = session.read_variable("learning_rate");
  //   session.assign_variable("learning_rate", Tensor::scalar(0.01f));
  //
  // Throw: NotFoundError with the existing names, or the closest; InvalidArgumentError for a
  // value of another type; what snapshot() and assign() throw.
  Tensor read_variable(std::string_view name);
  void assign_variable(std::string_view name, const Tensor& value);
};

// The largest number of completed steps: 2^60 steps of a nanosecond take 36 years. Leaves hooks
// room to add to a step, and to subtract from it, without overflow.
inline constexpr int64_t kMaxGlobalStep = int64_t{1} << 60;

namespace internal {

[[noreturn]] CROCHET_EXPORT void throw_invalid_global_step(int64_t step);

}  // namespace internal

// Returns the step. Throws: FailedPreconditionError for a step above kMaxGlobalStep or below its
// negative, as a damaged or foreign checkpoint may contain.
inline int64_t checked_global_step(int64_t step) {
  if (step > kMaxGlobalStep || step < -kMaxGlobalStep) internal::throw_invalid_global_step(step);
  return step;
}
// The checked step in a fetched value of Graph::global_step(). Throws: as above, and
// InvalidArgumentError for a tensor that is not a scalar int32 or int64.
CROCHET_EXPORT int64_t global_step_value(const Tensor& value);

// The number of completed steps, read in a run of its own. Throws: FailedPreconditionError if the
// graph counts none; as global_step_value().
CROCHET_EXPORT int64_t read_global_step(Session& session);

}  // namespace crochet::inline v0
