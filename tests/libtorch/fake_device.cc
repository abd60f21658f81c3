// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/libtorch/fake_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>
#include <torch/torch.h>

namespace crochet {
namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;
constexpr int kNumDevices = 2;
constexpr c10::StreamId kFirstOfPool = 100;

using StreamKey = std::pair<int, c10::StreamId>;
StreamKey key_of(const c10::Stream& stream) { return {stream.device_index(), stream.id()}; }
bool is_of_pool(const StreamKey& key) { return key.second >= kFirstOfPool; }

// A recording of an event.
struct Recording {
  StreamKey stream;
  std::atomic<bool> is_reached = false;
};
struct EventHandle {
  std::shared_ptr<Recording> latest;
};

struct Task {
  std::function<void()> run = {};
  std::shared_ptr<Recording> waits_for = {};
  std::shared_ptr<Recording> reaches = {};
};

// Memory that is overwritten when it is freed, so that nothing reads it by luck.
struct Block {
  explicit Block(size_t num_bytes) : bytes(num_bytes) {}
  ~Block() { std::ranges::fill(bytes, std::byte{0xdd}); }
  std::vector<std::byte> bytes;
  std::vector<c10::Stream> streams = {};  // That also use it.
};

void release_block(void* block);

// All streams of both devices.
class Machine {
 public:
  static Machine& instance() {
    static auto* const machine = new Machine;
    return *machine;
  }

  void set_order(FakeDevice::Order order) {
    const std::lock_guard lock(mutex_);
    order_ = order;
    if (order == FakeDevice::Order::kAtOnce)
      for (auto& [key, queue] : queues_) run(key, nullptr);
  }

  void queue(const c10::Stream& stream, Task task) {
    const std::lock_guard lock(mutex_);
    const StreamKey key = key_of(stream);
    queues_[key].push_back(std::move(task));
    const bool is_late = (order_ == FakeDevice::Order::kPoolLate && is_of_pool(key)) ||
                         (order_ == FakeDevice::Order::kPoolFirst && !is_of_pool(key));
    if (!is_late) run(key, nullptr);
  }

  void wait_for(const c10::Stream& stream) {
    ++num_waits;
    const std::lock_guard lock(mutex_);
    run(key_of(stream), nullptr);
  }

  c10::StreamId new_id(bool of_pool) {
    const std::lock_guard lock(mutex_);
    return of_pool ? kFirstOfPool + num_streams_++ : 1 + num_streams_++;
  }

  std::atomic<int64_t> num_waits = 0;
  std::atomic<int64_t> num_blocks = 0;
  std::atomic<int64_t> num_queries = 0;
  std::atomic<bool> fails_copies = false;
  std::atomic<bool> fails_queries = false;
  std::atomic<bool> fails_blocks = false;

 private:
  // Executes what is queued, up to this recording.
  void run(const StreamKey& key, const Recording* until) {
    std::deque<Task>& queue = queues_[key];
    while (!queue.empty() && !(until != nullptr && until->is_reached)) {
      const Task task = std::move(queue.front());
      queue.pop_front();
      if (task.waits_for && !task.waits_for->is_reached)
        run(task.waits_for->stream, task.waits_for.get());
      if (task.run) execute(task.run);
      if (task.reaches) task.reaches->is_reached = true;
    }
  }

  // What a device does is not done by operators of the program.
  static void execute(const std::function<void()>& function) {
    const at::DisableRecordFunctionGuard not_observed;
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    const at::NoGradGuard no_grad;
    function();
  }

  std::recursive_mutex mutex_;  // Guards what follows. A task may release memory.
  std::map<StreamKey, std::deque<Task>> queues_;
  FakeDevice::Order order_ = FakeDevice::Order::kAtOnce;
  c10::StreamId num_streams_ = 0;
};

thread_local int current_device = 0;
thread_local std::array<c10::StreamId, kNumDevices> current_stream_ids = {};

c10::Stream current_stream_of(c10::Device device) {
  const int index = device.has_index() ? device.index() : current_device;
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, static_cast<c10::DeviceIndex>(index)),
                     current_stream_ids[static_cast<size_t>(index)]);
}

class FakeGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device former = getDevice();
    setDevice(device);
    return former;
  }
  c10::Device getDevice() const override {
    return {kType, static_cast<c10::DeviceIndex>(current_device)};
  }
  void setDevice(c10::Device device) const override { current_device = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    current_device = device.index();
  }
  c10::Stream getStream(c10::Device device) const noexcept override {
    return current_stream_of(device);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device,
                                      bool /*is_high_priority*/) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, Machine::instance().new_id(/*of_pool=*/true));
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    const c10::Stream former = current_stream_of(stream.device());
    current_stream_ids[static_cast<size_t>(stream.device_index())] = stream.id();
    return former;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kNumDevices; }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (*event == nullptr) *event = new EventHandle;
    auto recording = std::make_shared<Recording>();
    recording->stream = key_of(stream);
    static_cast<EventHandle*>(*event)->latest = recording;
    Machine::instance().queue(stream, {.reaches = std::move(recording)});
  }
  void block(void* event, const c10::Stream& stream) const override {
    TORCH_CHECK(!Machine::instance().fails_blocks, "fake device: cannot wait for an event");
    ++Machine::instance().num_blocks;
    Machine::instance().queue(stream, {.waits_for = static_cast<EventHandle*>(event)->latest});
  }
  bool queryEvent(void* event) const override {
    ++Machine::instance().num_queries;
    TORCH_CHECK(!Machine::instance().fails_queries, "fake device: lost\nwith a backtrace");
    return static_cast<EventHandle*>(event)->latest->is_reached;
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<EventHandle*>(event);
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    if (data.get_deleter() == &release_block)
      static_cast<Block*>(data.get_context())->streams.push_back(stream);
  }
  bool queryStream(const c10::Stream&) const override { return false; }
  void synchronizeStream(const c10::Stream& stream) const override {
    Machine::instance().wait_for(stream);
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, FakeGuard)

// As on a GPU, memory that streams use beside the one that it was made for is freed once they have
// done what is queued by then.
void release_block(void* block) {
  const std::shared_ptr<Block> released(static_cast<Block*>(block));
  for (const c10::Stream& stream : released->streams)
    Machine::instance().queue(stream, {.run = [released] {}});
}

at::Tensor new_tensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type,
                      c10::Device device) {
  if (!device.has_index()) device = FakeGuard().getDevice();
  int64_t last = 0;
  bool is_empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    last += (sizes[i] - 1) * strides[i];
    is_empty = is_empty || sizes[i] == 0;
  }
  const size_t num_bytes = is_empty ? 0 : static_cast<size_t>(last + 1) * c10::elementSize(type);
  auto* const block = new Block(num_bytes);
  c10::DataPtr data(block->bytes.data(), block, &release_block, device);
  c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<int64_t>(num_bytes),
                       std::move(data), /*allocator=*/nullptr, /*resizable=*/false);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      caffe2::TypeMeta::fromScalarType(type));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

at::Tensor new_contiguous(at::IntArrayRef sizes, at::ScalarType type, c10::Device device) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return new_tensor(sizes, strides, type, device);
}

bool is_fake(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kType;
}

// The same memory, as a tensor of the CPU.
at::Tensor on_cpu(const at::Tensor& tensor) {
  if (!is_fake(tensor)) return tensor;
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       at::TensorOptions(tensor.scalar_type()));
}

at::Tensor on_device(const at::Tensor& tensor, c10::Device device) {
  if (!tensor.defined()) return tensor;
  at::Tensor result = new_tensor(tensor.sizes(), tensor.strides(), tensor.scalar_type(), device);
  on_cpu(result).copy_(tensor);
  return result;
}

c10::IValue on_cpu(const c10::IValue& value) {
  if (value.isTensor()) return on_cpu(value.toTensor());
  if (value.isDevice()) return c10::Device(c10::kCPU);
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& each : value.toTensorVector()) list.push_back(on_cpu(each));
    return list;
  }
  return value;
}

void find_device(const c10::IValue& value, c10::optional<c10::Device>& device) {
  if (device) return;
  if (value.isTensor() && is_fake(value.toTensor())) device = value.toTensor().device();
  if (value.isDevice() && value.toDevice().type() == kType) device = value.toDevice();
  if (value.isTensorList())
    for (const at::Tensor& each : value.toTensorVector()) find_device(each, device);
}

// Computes any operator on the CPU, when its turn in the stream comes.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const size_t num_arguments = schema.arguments().size();
  const torch::jit::Stack arguments(stack->end() - static_cast<std::ptrdiff_t>(num_arguments),
                                    stack->end());
  torch::jit::drop(*stack, num_arguments);
  c10::optional<c10::Device> device;
  torch::jit::Stack cpu_arguments;
  torch::jit::Stack written;
  for (size_t i = 0; i < num_arguments; ++i) {
    find_device(arguments[i], device);
    cpu_arguments.push_back(on_cpu(arguments[i]));
    const auto* const alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) written.push_back(arguments[i]);
  }
  const c10::Stream stream = current_stream_of(device.value());
  if (!written.empty() && schema.returns().size() <= written.size()) {
    // The arguments are kept until then, as LibTorch's allocators of devices do.
    Machine::instance().queue(stream, {.run = [op, arguments, cpu_arguments]() mutable {
                                op.callBoxed(&cpu_arguments);
                              }});
    for (size_t i = 0; i < schema.returns().size(); ++i) stack->push_back(written[i]);
    return;
  }
  Machine::instance().wait_for(stream);
  op.callBoxed(&cpu_arguments);
  for (c10::IValue& result : cpu_arguments) {
    if (result.isTensor()) result = on_device(result.toTensor(), *device);
    stack->push_back(std::move(result));
  }
}

at::Tensor fake_empty(at::IntArrayRef sizes, c10::optional<at::ScalarType> type,
                      c10::optional<at::Layout>, c10::optional<at::Device> device,
                      c10::optional<bool>, c10::optional<at::MemoryFormat>) {
  return new_contiguous(sizes, type.value_or(at::kFloat), device.value());
}

at::Tensor fake_empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                              c10::optional<at::ScalarType> type, c10::optional<at::Layout>,
                              c10::optional<at::Device> device, c10::optional<bool>) {
  return new_tensor(sizes, strides, type.value_or(at::kFloat), device.value());
}

at::Tensor fake_as_strided(const at::Tensor& self, at::IntArrayRef sizes, at::IntArrayRef strides,
                           c10::optional<int64_t> offset) {
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(self.storage()), self.key_set(), self.dtype());
  result.unsafeGetTensorImpl()->set_storage_offset(offset.value_or(self.storage_offset()));
  result.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return result;
}

at::Tensor fake_view(const at::Tensor& self, at::IntArrayRef sizes) {
  TORCH_CHECK(self.is_contiguous(), "fake device: only contiguous tensors are viewed");
  const at::Tensor like = at::empty(self.sizes(), self.scalar_type()).view(sizes);
  return fake_as_strided(self, like.sizes(), like.strides(), c10::nullopt);
}

at::Tensor& fake_copy(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  Machine& machine = Machine::instance();
  TORCH_CHECK(!machine.fails_copies, "fake device: cannot copy");
  const c10::Stream stream = current_stream_of(is_fake(source) ? source.device() : self.device());
  // Memory of the CPU may change as soon as this returns, unless the program takes care of it.
  const at::Tensor from = is_fake(source) || non_blocking ? source : source.clone();
  // As on a GPU, memory that is freed is kept for the stream that it was made for, and no other.
  const at::Tensor kept = is_of_pool(key_of(stream)) ? at::Tensor() : from;
  machine.queue(stream, {.run = [to = on_cpu(self), from = on_cpu(from), kept]() mutable {
                  to.copy_(from);
                }});
  if (!is_fake(self) && !non_blocking) machine.wait_for(stream);
  return self;
}

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &fake_empty);
  library.impl("empty_strided", &fake_empty_strided);
  library.impl("as_strided", &fake_as_strided);
  library.impl("view", &fake_view);
  library.impl("copy_", &fake_copy);
}

void FakeDevice::set_order(Order order) { Machine::instance().set_order(order); }

void FakeDevice::finish() { set_order(Order::kAtOnce); }

void FakeDevice::reset(Order order) {
  Machine& machine = Machine::instance();
  machine.fails_copies = machine.fails_queries = machine.fails_blocks = false;
  finish();
  machine.num_waits = machine.num_blocks = machine.num_queries = 0;
  set_order(order);
}

at::Tensor FakeDevice::to_device(const at::Tensor& tensor, int index) {
  const at::NoGradGuard no_grad;
  at::Tensor result = new_contiguous(tensor.sizes(), tensor.scalar_type(),
                                     c10::Device(kType, static_cast<c10::DeviceIndex>(index)));
  result.copy_(tensor);
  return result;
}

c10::Stream FakeDevice::new_stream(int index) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, static_cast<c10::DeviceIndex>(index)),
                     Machine::instance().new_id(/*of_pool=*/false));
}

void FakeDevice::write(const at::Tensor& tensor, float value) {
  Machine::instance().queue(current_stream_of(tensor.device()),
                            {.run = [tensor, value] { on_cpu(tensor).fill_(value); }});
}

void FakeDevice::fail_copies() { Machine::instance().fails_copies = true; }
void FakeDevice::fail_queries() { Machine::instance().fails_queries = true; }
void FakeDevice::fail_blocks() { Machine::instance().fails_blocks = true; }
int64_t FakeDevice::num_waits() { return Machine::instance().num_waits; }
int64_t FakeDevice::num_blocks() { return Machine::instance().num_blocks; }
int64_t FakeDevice::num_queries() { return Machine::instance().num_queries; }

}  // namespace crochet
