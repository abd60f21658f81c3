// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What goes over the network, to a server in this process that answers with given bytes.
#include "crochet/hooks/guards/cloud/cloud_preemption.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/thread.h"
#include "crochet/cloud/internal/http_client.h"
#include "crochet/testing/fake_clock.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using cloud::internal::HttpClient;
using cloud::internal::HttpMethod;
using cloud::internal::HttpRequest;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

// A port of the loopback interface that nobody else gets, and where nobody answers.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (::bind(socket_, generic, size) != 0 || ::getsockname(socket_, generic, &size) != 0)
      throw std::runtime_error("no port for the test's server");
    number_ = ntohs(address.sin_port);
  }
  ~Port() { ::close(socket_); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  int socket() const { return socket_; }
  std::string host() const { return fmt::format("127.0.0.1:{}", number_); }

 private:
  const int socket_;
  int number_ = 0;
};

// Listens on a port of its own. Each connection gets one answer.
class Server {
 public:
  // Answers with this text, and closes the connection; or holds it until the server ends.
  struct Answer {
    std::string text;
    bool holds = false;
  };

  explicit Server(std::vector<Answer> answers) : answers_(answers.begin(), answers.end()) {
    if (::listen(port_.socket(), 8) != 0)
      throw std::runtime_error("the test's server cannot listen");
    thread_ = internal::Thread("server", [this] { serve(); });
  }
  ~Server() {
    ::shutdown(port_.socket(), SHUT_RDWR);
    thread_.join();
    for (const int held : held_) ::close(held);
  }

  std::string host() const { return port_.host(); }
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (;;) {
      const int connection = ::accept(port_.socket(), nullptr, nullptr);
      if (connection < 0) return;
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        request.append(buffer, static_cast<size_t>(got));
      }
      Answer answer;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        if (!answers_.empty()) {
          answer = answers_.front();
          answers_.pop_front();
        }
      }
      ::send(connection, answer.text.data(), answer.text.size(), MSG_NOSIGNAL);
      if (answer.holds)
        held_.push_back(connection);
      else
        ::close(connection);
    }
  }

  const Port port_;
  std::mutex mutex_;  // Guards the next two.
  std::deque<Answer> answers_;
  std::vector<std::string> requests_;
  std::vector<int> held_;
  internal::Thread thread_;
};

std::string ok(const std::string& body, const std::string& header = "") {
  return fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                     header, body.size(), body);
}

TEST(HttpClientTest, SendsAndReceives) {
  Server server({{ok("FALSE", "ETag:  a1b2 \r\n")}, {ok("token")}});
  HttpClient client(server.host());
  const auto response = client.send({.path = "/v1/x?y=1", .headers = {"Metadata: true"}}, {});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "FALSE");
  EXPECT_EQ(response->etag, "a1b2");
  EXPECT_EQ(client.send({.method = HttpMethod::kPut, .path = "/token"}, {})->body, "token");
  EXPECT_THAT(server.requests(), ElementsAre(AllOf(StartsWith("GET /v1/x?y=1 HTTP/1.1\r\n"),
                                                   HasSubstr("\r\nMetadata: true\r\n")),
                                             StartsWith("PUT /token HTTP/1.1\r\n")));
}

// Whatever a server answers, no other one is asked.
TEST(HttpClientTest, DoesNotFollowWhereItIsSent) {
  Server other({});
  Server server(
      {{fmt::format("HTTP/1.1 302 Found\r\nLocation: http://{}/stolen\r\n"
                    "Content-Length: 0\r\n\r\n",
                    other.host())}});
  EXPECT_EQ(HttpClient(server.host()).send({.path = "/"}, {})->status, 302);
  EXPECT_TRUE(other.requests().empty());
}

TEST(HttpClientTest, UsesNoProxy) {
  Server proxy({});
  Server server({{ok("here")}});
  for (const char* const name : {"http_proxy", "all_proxy", "ALL_PROXY"})
    ::setenv(name, ("http://" + proxy.host()).c_str(), 1);
  EXPECT_EQ(HttpClient(server.host()).send({.path = "/"}, {})->body, "here");
  for (const char* const name : {"http_proxy", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
  EXPECT_TRUE(proxy.requests().empty());
}

TEST(HttpClientTest, AServerThatFailsIsAnError) {
  const Port nobody;
  EXPECT_THROW(HttpClient(nobody.host()).send({.path = "/"}, {}), UnavailableError);
  Server server({{""},
                 {"SSH-2.0-OpenSSH\r\n"},
                 {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"},
                 {"", true},
                 {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nslow", true},
                 {ok(std::string(70'000, 'x'))}});
  HttpClient client(server.host());
  const HttpRequest request = {.path = "/", .timeout_secs = 0.2};
  for (int i = 0; i < 5; ++i) EXPECT_THROW(client.send(request, {}), UnavailableError) << i;
  EXPECT_THAT([&] { client.send({.path = "/"}, {}); },
              ThrowsMessage<ResourceExhaustedError>(HasSubstr("more than 65536 bytes")));
}

TEST(HttpClientTest, EndsAtOnceWhenAskedTo) {
  Server server({{"", true}});
  HttpClient client(server.host());
  std::stop_source stop;
  internal::Thread thread("stopper", [&] {
    wait_until("the request", [&] { return !server.requests().empty(); });
    stop.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(client.send({.path = "/", .timeout_secs = 600}, stop.get_token()));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
}

TEST(HttpClientTest, RefusesOtherText) {
  for (const std::string host : {"", "a b", "host/path", "user@host", "host?x", "h#", "h\r\nX: y"})
    EXPECT_THROW(HttpClient{host}, InvalidArgumentError) << host;
}

TEST(CloudPreemptionTest, EachCloudIsAskedInItsDialect) {
  Server gce({{ok("TRUE")}});
  EXPECT_THAT(cloud::gce_preemption({.host = gce.host()})->wait({})->text, HasSubstr("Google"));
  Server aws({{ok("token")}, {ok(R"({"action": "stop", "time": "2026-11-29T07:10:00Z"})")}});
  const auto amazon = cloud::aws_preemption({.host = aws.host()});
  EXPECT_FALSE(amazon->wait({}));
  EXPECT_THAT(amazon->wait({})->text, HasSubstr("Amazon"));
  Server azure({{ok("vm")}});
  EXPECT_FALSE(cloud::azure_preemption({.host = azure.host()})->wait({}));
  EXPECT_THAT(azure.requests(), ElementsAre(StartsWith("GET /metadata/instance/compute/name")));
}

// The question about the end is the first after each pause, and after a server that was started
// again.
TEST(CloudPreemptionTest, WaitsBetweenQuestions) {
  const Server::Answer none = {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"};
  const Server::Answer refused = {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"};
  Server server({{ok("token")}, none, none, none, refused, {ok("token")}, none, none});
  FakeClock clock;
  const auto source = cloud::aws_preemption({.host = server.host(), .clock = &clock});
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(source->wait({})) << i;
  using std::chrono::seconds;
  EXPECT_THAT(clock.sleeps(), ElementsAre(seconds(0), seconds(0), seconds(0), seconds(5),
                                          seconds(0), seconds(0), seconds(0), seconds(0)));
}

}  // namespace
}  // namespace crochet
