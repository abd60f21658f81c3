// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/stacks.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include "tools/text.h"

namespace crochet::tool {
namespace {

constexpr size_t kMaxFrames = 128;
// Of a stack that a handler of a signal has written.
constexpr size_t kHandlerFrames = 2;

std::string demangled(const char* name) {
  if (name == nullptr) return "";
  int status = -1;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

std::string base_of(const char* path) {
  return path == nullptr ? "" : std::filesystem::path(path).filename().string();
}

// What is known of the process's memory: modules, functions, lines.
class Symbols {
 public:
  explicit Symbols(int64_t pid) : pid_(static_cast<pid_t>(pid)), dwfl_(dwfl_begin(&kCallbacks)) {
    if (!dwfl_) return;
    dwfl_linux_proc_report(dwfl_.get(), pid_);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  }

  // True if the threads can be traced.
  bool attach() {
    return dwfl_ && dwfl_linux_proc_attach(dwfl_.get(), pid_, /*assume_ptrace_stopped=*/false) == 0;
  }

  // `is_call`: the address is where a call returns to.
  Frame frame_at(uint64_t address, bool is_call) const {
    Frame frame{.address = address};
    if (!dwfl_) return frame;
    const Dwarf_Addr place = is_call ? address - 1 : address;
    Dwfl_Module* const module = dwfl_addrmodule(dwfl_.get(), place);
    if (module == nullptr) return frame;
    frame.module = base_of(
        dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
    GElf_Off offset = 0;
    GElf_Sym symbol;
    frame.function =
        demangled(dwfl_module_addrinfo(module, place, &offset, &symbol, nullptr, nullptr, nullptr));
    Dwfl_Line* const line = dwfl_module_getsrc(module, place);
    int number = 0;
    if (line != nullptr)
      if (const char* const file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr))
        frame.place = fmt::format("{}:{}", base_of(file), number);
    return frame;
  }

  // Throws nothing: what cannot be unwound is named in `problem`.
  void unwind(ThreadStack& stack) {
    Unwound unwound{*this, stack};
    const int result = dwfl_getthread_frames(
        dwfl_.get(), static_cast<pid_t>(stack.thread),
        [](Dwfl_Frame* frame, void* data) {
          auto& to = *static_cast<Unwound*>(data);
          Dwarf_Addr address = 0;
          bool is_activation = false;
          if (!dwfl_frame_pc(frame, &address, &is_activation)) return DWARF_CB_ABORT + 0;
          to.stack.frames.push_back(to.symbols.frame_at(address, !is_activation));
          return to.stack.frames.size() == kMaxFrames ? DWARF_CB_ABORT + 0 : DWARF_CB_OK + 0;
        },
        &unwound);
    if (result < 0) stack.problem = dwfl_errmsg(-1);
  }

 private:
  struct Unwound {
    const Symbols& symbols;
    ThreadStack& stack;
  };
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };

  // No debug information is fetched from servers.
  static char* no_path_;
  static const Dwfl_Callbacks kCallbacks;

  const pid_t pid_;
  const std::unique_ptr<Dwfl, End> dwfl_;
};

char* Symbols::no_path_ = nullptr;
const Dwfl_Callbacks Symbols::kCallbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                            .find_debuginfo = dwfl_standard_find_debuginfo,
                                            .section_address = nullptr,
                                            .debuginfo_path = &no_path_};

std::vector<ThreadStack> threads_of(int64_t pid) {
  std::vector<ThreadStack> threads;
  std::error_code error;
  const std::filesystem::path folder = fmt::format("/proc/{}/task", pid);
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    ThreadStack stack{.thread = std::atoll(entry.path().filename().c_str())};
    std::ifstream(entry.path() / "comm") >> stack.name;
    threads.push_back(std::move(stack));
  }
  std::ranges::sort(threads, {}, &ThreadStack::thread);
  const auto first = std::ranges::find(threads, pid, &ThreadStack::thread);
  if (first != threads.end()) std::rotate(threads.begin(), first, first + 1);
  return threads;
}

}  // namespace

std::vector<ThreadStack> stacks_of(
    int64_t pid, const std::function<std::vector<uint64_t>(int64_t thread)>& addresses_of) {
  ::setenv("DEBUGINFOD_URLS", "", 1);
  std::vector<ThreadStack> threads = threads_of(pid);
  Symbols symbols(pid);
  const bool is_traced = symbols.attach();
  for (ThreadStack& stack : threads) {
    if (is_traced) symbols.unwind(stack);
    if (!stack.frames.empty()) continue;
    // The handler and what the kernel called it through come first; then where the signal came, and
    // not where a call returns to.
    const std::vector<uint64_t> addresses = addresses_of(stack.thread);
    for (size_t i = kHandlerFrames; i < addresses.size(); ++i)
      stack.frames.push_back(symbols.frame_at(addresses[i], i > kHandlerFrames));
    if (!stack.frames.empty()) stack.problem.clear();
  }
  return threads;
}

std::string to_text(const std::vector<ThreadStack>& stacks) {
  std::string text;
  for (const ThreadStack& stack : stacks) {
    text += fmt::format("thread {} ({})\n", stack.thread, printable(stack.name));
    for (size_t i = 0; i < stack.frames.size(); ++i) {
      const Frame& frame = stack.frames[i];
      text += fmt::format("  #{:<3} {}", i,
                          frame.function.empty() ? fmt::format("{:#x}", frame.address)
                                                 : printable_text(frame.function));
      if (!frame.place.empty()) text += " at " + printable(frame.place);
      if (!frame.module.empty()) text += " in " + printable(frame.module);
      text += '\n';
    }
    if (!stack.problem.empty()) text += fmt::format("  ({})\n", printable_text(stack.problem));
  }
  return text;
}

}  // namespace crochet::tool
