// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/internal/watched_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <execinfo.h>
#include <fmt/format.h>
#include <spawn.h>

#include "crochet/base/log.h"

namespace crochet::inline v0::internal {
namespace {

// The helper has the page here.
constexpr int kPageDescriptor = 3;

// For the handler. Never unmapped: a signal may still be on its way.
std::atomic<WatchPage*> watched_page = nullptr;

// Used where the helper may not trace this process.
void write_stack(int) {
  const int error = errno;
  WatchPage* const page = watched_page.load();
  if (page != nullptr) {
    const int depth = ::backtrace(page->frames.data(), static_cast<int>(page->frames.size()));
    page->depth = static_cast<uint32_t>(std::max(depth, 0));
    page->thread = static_cast<int32_t>(::syscall(SYS_gettid));
  }
  errno = error;
}

// A free one of the signals that programs may use. 0: none.
int take_signal() {
  for (int signal = SIGRTMAX - 1; signal >= SIGRTMIN; --signal) {
    struct sigaction current = {};
    if (::sigaction(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) continue;
    struct sigaction ours = {};
    ours.sa_handler = write_stack;
    ours.sa_flags = SA_RESTART;
    ::sigfillset(&ours.sa_mask);
    if (::sigaction(signal, &ours, nullptr) == 0) return signal;
  }
  return 0;
}

// Returns its process id, or -1 with errno.
int spawn(const std::string& helper, int page) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, page, kPageDescriptor);
  std::string program = helper;
  std::string command = "watchdog";
  char* const arguments[] = {program.data(), command.data(), nullptr};
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, helper.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error == 0 ? child : -1;
}

}  // namespace

std::unique_ptr<WatchedProcess> WatchedProcess::start(const std::string& helper, WatchAction action,
                                                      int rank, const std::string& directory) {
  const auto fail = [](const std::string& why) -> std::unique_ptr<WatchedProcess> {
    log_warning(fmt::format("the run is not watched: {}", why));
    return nullptr;
  };
  WatchPage* const earlier = watched_page.load();
  if (earlier != nullptr && earlier->phase != WatchPhase::kClosed)
    return fail("this process has another WatchdogHook");
  const int descriptor = ::memfd_create("crochet-watchdog", MFD_CLOEXEC);
  if (descriptor < 0 || ::ftruncate(descriptor, sizeof(WatchPage)) != 0)
    return fail(fmt::format("no shared memory: {}", std::strerror(errno)));
  void* const memory =
      ::mmap(nullptr, sizeof(WatchPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    ::close(descriptor);
    return fail(fmt::format("no shared memory: {}", std::strerror(errno)));
  }
  auto* const page = new (memory) WatchPage;
  page->pid = ::getpid();
  page->rank = rank;
  page->action = action;
  write_text(directory, page->directory);
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // Loads what it needs now, and not in the handler.
  page->signal = take_signal();
  watched_page = page;
  const int child = spawn(helper, descriptor);
  const int error = errno;
  ::close(descriptor);
  if (child < 0) {
    page->phase = WatchPhase::kClosed;
    return fail(
        fmt::format("its helper \"{}\" cannot be started: {}", helper, std::strerror(error)));
  }
#ifdef PR_SET_PTRACER
  // Where only parents may trace their children, the helper may, too.
  ::prctl(PR_SET_PTRACER, child, 0, 0, 0);
#endif
  std::unique_ptr<WatchedProcess> process(new WatchedProcess);
  process->page_ = page;
  process->helper_ = child;
  return process;
}

WatchedProcess::~WatchedProcess() {
  page_->phase = WatchPhase::kClosed;
  if (::getpid() != page_->pid) return;  // A forked child.
  if (page_->signal != 0) ::signal(page_->signal, SIG_IGN);
  while (::waitpid(helper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace crochet::inline v0::internal
