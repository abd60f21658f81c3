// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet serve: the runs of a folder, for browsers and monitoring.
#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <httplib.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/thread.h"
#include "crochet/base/pending_signal.h"
#include "crochet/io/internal/file_place.h"
#include "tools/command.h"
#include "tools/html.h"
#include "tools/prometheus.h"
#include "tools/report.h"
#include "tools/signal_guard.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kServeHelp = {
    .name = "serve",
    .description =
        "Serve the runs below a directory by HTTP until it is interrupted: / lists them,\n"
        "/report/RUN is the page of `crochet report`, /metrics is for Prometheus, and /health\n"
        "answers 503 if a run ended as nobody asked it to",
    .examples =
        "  crochet serve runs                      # http://127.0.0.1:9712/\n"
        "  crochet serve --host 0.0.0.0 --port 80 runs",
};

struct ServeOptions {
  std::string directory = ".";
  std::string host = "127.0.0.1";
  int port = 9712;
};

// What is served. Requests come on several threads; the runs are read for one at a time.
class Pages {
 public:
  Pages(const Context& context, std::string directory)
      : files_(context.files()), clock_(context.clock()), directory_(std::move(directory)) {}

  std::string metrics() { return prometheus_text(runs()); }

  std::string list() {
    std::vector<std::vector<std::string>> rows;
    for (const NamedRun& named : runs()) {
      const RunModel& run = named.history.run;
      rows.push_back({fmt::format("<a href=\"/report/{}\">{}</a>", url_path(named.name),
                                  html_text(named.name)),
                      html_text(end_kind_name(run.end.kind)), clock(run.last().last),
                      fmt::format("{}", run.last().last_step),
                      fmt::format("{:.1f} %", 100 * named.history.goodput.part())});
    }
    return html_page(
        directory_,
        fmt::format("<h1>{}</h1>\n", html_text(directory_)) +
            html_table({"run", "state", "last heard of, UTC", "step", "goodput"}, rows, 3));
  }

  // Empty if there is no such run.
  std::string report(const std::string& name) {
    const std::lock_guard lock(mutex_);
    for (const std::string& directory : find_runs(files_, directory_))
      if (name_of(directory) == name)
        return report_page(read_history(files_, directory, ThisMachine()), clock_.wall_time());
    return "";
  }

  // The runs that ended as nobody asked them to, one a line.
  std::string failures() {
    std::string text;
    for (const NamedRun& named : runs()) {
      const RunEnd& end = named.history.run.end;
      if (!is_as_wanted(end.kind))
        text += fmt::format("{}: {}: {}\n", printable(named.name), end_kind_name(end.kind),
                            printable_text(end.why));
    }
    return text;
  }

 private:
  std::string name_of(const std::string& directory) const {
    const std::string name = internal::name_within(directory_, directory);
    return name.empty() ? "." : name;
  }
  static std::string clock(double time) { return html_text(time_text(time)); }
  // RFC 3986, 2.3 and 3.3.
  static std::string url_path(std::string_view name) {
    std::string url;
    for (const char c : name) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos)
        url += c;
      else
        url += fmt::format("%{:02X}", byte);
    }
    return url;
  }

  // Those that can be read.
  std::vector<NamedRun> runs() {
    const std::lock_guard lock(mutex_);
    std::vector<NamedRun> found;
    for (const std::string& directory : find_runs(files_, directory_)) {
      try {
        found.push_back({name_of(directory), read_history(files_, directory, ThisMachine())});
      } catch (const Error&) {  // `crochet runs` names it.
      }
    }
    return found;
  }

  FileSystem& files_;
  Clock& clock_;
  const std::string directory_;
  std::mutex mutex_;
};

bool is_loopback(std::string_view host) {
  return host == "127.0.0.1" || host == "localhost" || host == "::1" || host == "[::1]";
}

// A page of another site cannot have its reader's browser ask this server under that site's name.
bool is_meant_for_us(const httplib::Request& request) {
  std::string host = request.get_header_value("Host");
  const size_t end = host.rfind(':');
  if (end != std::string::npos && host.find(']', end) == std::string::npos) host.resize(end);
  return is_loopback(host);
}

void answer(httplib::Response& response, int status, const std::string& text, const char* type) {
  response.status = status;
  response.set_content(text, type);
}

constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kText = "text/plain; charset=utf-8";

void add_pages(httplib::Server& server, Pages& pages, bool only_for_us) {
  server.set_pre_routing_handler([only_for_us](const auto& request, auto& response) {
    if (!only_for_us || is_meant_for_us(request))
      return httplib::Server::HandlerResponse::Unhandled;
    answer(response, 403, "crochet serve answers to 127.0.0.1 and localhost\n", kText);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_exception_handler([](const auto&, auto& response, std::exception_ptr error) {
    answer(response, 500, describe(error) + "\n", kText);
  });
  server.Get("/", [&](const auto&, auto& response) { answer(response, 200, pages.list(), kHtml); });
  server.Get("/metrics", [&](const auto&, auto& response) {
    answer(response, 200, pages.metrics(), "text/plain; version=0.0.4; charset=utf-8");
  });
  server.Get("/health", [&](const auto&, auto& response) {
    const std::string failures = pages.failures();
    answer(response, failures.empty() ? 200 : 503, failures.empty() ? "ok\n" : failures, kText);
  });
  server.Get("/report", [&](const auto&, auto& response) { response.set_redirect("/"); });
  server.Get(R"(/report/(.+))", [&](const auto& request, auto& response) {
    const std::string page = pages.report(request.matches[1]);
    if (page.empty())
      answer(response, 404, "no such run\n", kText);
    else
      answer(response, 200, page, kHtml);
  });
}

int serve(const Context& context, const ServeOptions& options) {
  if (!is_directory(context.files(), options.directory))
    throw NotFoundError(fmt::format("{}: no such directory", options.directory));
  Pages pages(context, options.directory);
  httplib::Server server;
  // The library's default lets several servers share a port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  add_pages(server, pages, is_loopback(options.host));
  const SignalGuard guard;
  const int port = options.port != 0
                       ? (server.bind_to_port(options.host, options.port) ? options.port : -1)
                       : server.bind_to_any_port(options.host);
  if (port < 0)
    throw UnavailableError(
        fmt::format("{}:{} cannot be listened at: it may be in use, or not be "
                    "this machine's",
                    options.host, options.port));
  context.print(
      fmt::format("http://{}:{}/ shows {}\n", options.host, port, printable(options.directory)));
  context.flush();
  internal::Thread listening("http", [&] { server.listen_after_bind(); });
  while (sleep_unless_signalled(Clock::real(), std::chrono::seconds(1))) {
  }
  server.stop();
  listening.join();
  return kSuccess;
}

}  // namespace

void add_serve(CommandLine& line) {
  const auto [command, options] = add_command(line, kServeHelp, serve);
  command
      .add_option("directory", options.directory, "The folder of runs; by default the current one")
      ->type_name("DIR");
  command.add_option("--host", options.host, "The address to listen at; by default 127.0.0.1")
      ->type_name("ADDRESS");
  command.add_option("--port", options.port, "By default 9712; 0 for a free one")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535));
}

}  // namespace crochet::tool
