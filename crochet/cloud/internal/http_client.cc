// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/http_client.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <exception>
#include <string_view>

#include <curl/curl.h>
#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::cloud::internal {
namespace {

constexpr double kConnectSecs = 30;

bool is_host(std::string_view text) {
  constexpr std::string_view kOthers = ".:-[]";
  return !text.empty() && text.size() < 256 && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || kOthers.find(c) != kOthers.npos;
  });
}

struct HeaderList {
  explicit HeaderList(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) list = curl_slist_append(list, line.c_str());
  }
  ~HeaderList() { curl_slist_free_all(list); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;

  curl_slist* list = nullptr;
};

// A request on its way.
struct Transfer {
  CURL* easy;
  const HttpRequest& request;
  HttpResponse response = {};
  uint64_t num_sent = 0;
  bool is_too_long = false;
  std::exception_ptr error = {};  // Of the body's function.

  bool add(std::span<const char> data) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    const std::span<std::byte> into =
        status / 100 == 2 ? request.into.subspan(response.num_received) : std::span<std::byte>();
    if (status / 100 == 2 && !request.into.empty()) {
      is_too_long = data.size() > into.size();
      if (is_too_long) return false;
      std::memcpy(into.data(), data.data(), data.size());
      response.num_received += data.size();
      return true;
    }
    is_too_long = response.body.size() + data.size() > request.max_body_bytes;
    if (!is_too_long) response.body.append(data.data(), data.size());
    return !is_too_long;
  }

  size_t read(std::span<std::byte> into) {
    const auto num_bytes = std::min<uint64_t>(into.size(), request.body.size - num_sent);
    if (num_bytes == 0) return 0;
    try {
      request.body.read(num_sent, into.first(num_bytes));
    } catch (...) {
      error = std::current_exception();
      return CURL_READFUNC_ABORT;
    }
    num_sent += num_bytes;
    return num_bytes;
  }
};

// Called by curl: with the next bytes of the body, for those to send, and to send them again.
size_t receive(char* data, size_t, size_t size, void* transfer) {
  return static_cast<Transfer*>(transfer)->add({data, size}) ? size : 0;  // 0 ends the transfer.
}
size_t provide(char* data, size_t size, size_t count, void* transfer) {
  return static_cast<Transfer*>(transfer)->read(
      std::as_writable_bytes(std::span(data, size * count)));
}
int seek(void* transfer, curl_off_t offset, int) {
  static_cast<Transfer*>(transfer)->num_sent = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::string header_of(CURL* easy, const char* name) {
  curl_header* header = nullptr;
  return curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value
                                                                                 : "";
}

}  // namespace

struct HttpClient::Handles {
  Handles() {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_ALL);
    if (started != CURLE_OK || (multi = curl_multi_init()) == nullptr ||
        (easy = curl_easy_init()) == nullptr)
      throw ResourceExhaustedError("libcurl could not be started");
  }
  ~Handles() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  CURLM* multi = nullptr;
  CURL* easy = nullptr;
};

HttpClient::HttpClient(const HttpServer& server)
    : server_(server),
      url_((server.is_https ? "https://" : "http://") + server.host),
      handles_(std::make_unique<Handles>()) {
  if (!is_host(server.host))
    throw InvalidArgumentError(
        fmt::format("the server is \"{}\", expected a host such as 169.254.169.254", server.host));
}

HttpClient::~HttpClient() = default;

std::optional<HttpResponse> HttpClient::send(const HttpRequest& request,
                                             const std::stop_token& stop) {
  CURL* const easy = handles_->easy;
  const HeaderList headers(request.headers);
  const std::string url = url_ + request.path;
  Transfer transfer{.easy = easy, .request = request};
  curl_easy_reset(easy);
  const auto set = [easy](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, server_.is_https ? "https" : "http");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  if (!server_.may_use_proxy) set(CURLOPT_PROXY, "");  // Nor one of the environment.
  if (!server_.authorities.empty()) set(CURLOPT_CAINFO, server_.authorities.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectSecs * 1000));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout_secs * 1000));
  if (request.stall_secs > 0) {
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stall_secs));
  }
  set(CURLOPT_HTTPHEADER, headers.list);
  if (request.method == HttpMethod::kDelete) set(CURLOPT_CUSTOMREQUEST, "DELETE");
  if (request.method == HttpMethod::kPut) {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size));
    set(CURLOPT_READFUNCTION, &provide);
    set(CURLOPT_READDATA, &transfer);
    set(CURLOPT_SEEKFUNCTION, &seek);
    set(CURLOPT_SEEKDATA, &transfer);
  }
  std::string signature;
  if (request.signature) {
    signature = fmt::format("aws:amz:{}:{}", request.signature->region, request.signature->service);
    set(CURLOPT_AWS_SIGV4, signature.c_str());
    set(CURLOPT_USERNAME, request.signature->key_id.c_str());
    set(CURLOPT_PASSWORD, request.signature->secret.c_str());
  }
  set(CURLOPT_WRITEFUNCTION, &receive);
  set(CURLOPT_WRITEDATA, &transfer);

  CURLM* const multi = handles_->multi;
  const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
  curl_multi_add_handle(multi, easy);
  int num_running = 1;
  while (num_running > 0 && !stop.stop_requested())
    if (curl_multi_perform(multi, &num_running) != CURLM_OK ||
        (num_running > 0 && curl_multi_poll(multi, nullptr, 0, 1000, nullptr) != CURLM_OK))
      break;
  int num_messages = 0;
  const CURLMsg* const message = curl_multi_info_read(multi, &num_messages);
  const CURLcode result = message != nullptr ? message->data.result : CURLE_AGAIN;
  transfer.response.etag = header_of(easy, "ETag");
  transfer.response.date = header_of(easy, "Date");
  curl_multi_remove_handle(multi, easy);
  if (stop.stop_requested()) return std::nullopt;
  if (transfer.error) std::rethrow_exception(transfer.error);
  if (transfer.is_too_long)
    throw ResourceExhaustedError(
        fmt::format("{} answered with more than {} bytes", url,
                    request.into.empty() ? request.max_body_bytes : request.into.size()));
  if (result != CURLE_OK)
    throw UnavailableError(fmt::format("{}: {}", url, curl_easy_strerror(result)));
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  transfer.response.status = static_cast<int>(status);
  return std::move(transfer.response);
}

}  // namespace crochet::inline v0::cloud::internal
