// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/cloud/internal/http_client.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <curl/curl.h>
#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::cloud::internal {
namespace {

// Called by curl with the next bytes of the body.
size_t add_to_body(char* data, size_t, size_t size, void* body) {
  std::string& text = *static_cast<std::string*>(body);
  if (text.size() + size > kMaxBodyBytes) return 0;  // Ends the transfer.
  text.append(data, size);
  return size;
}

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

HttpClient::HttpClient(const std::string& host)
    : url_("http://" + host), handles_(std::make_unique<Handles>()) {
  if (!is_host(host))
    throw InvalidArgumentError(fmt::format(
        "the metadata server is \"{}\", expected a host such as 169.254.169.254", host));
}

HttpClient::~HttpClient() = default;

std::optional<HttpResponse> HttpClient::send(const HttpRequest& request,
                                             const std::stop_token& stop) {
  CURL* const easy = handles_->easy;
  const HeaderList headers(request.headers);
  const std::string url = url_ + request.path;
  HttpResponse response;
  curl_easy_reset(easy);
  const auto set = [easy](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");  // Nor one of the environment.
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout_secs * 1000));
  set(CURLOPT_HTTPHEADER, headers.list);
  if (request.is_put) set(CURLOPT_CUSTOMREQUEST, "PUT");
  set(CURLOPT_WRITEFUNCTION, &add_to_body);
  set(CURLOPT_WRITEDATA, &response.body);

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
  curl_header* etag = nullptr;
  if (curl_easy_header(easy, "ETag", 0, CURLH_HEADER, -1, &etag) == CURLHE_OK)
    response.etag = etag->value;
  curl_multi_remove_handle(multi, easy);
  if (stop.stop_requested()) return std::nullopt;
  if (result == CURLE_WRITE_ERROR)
    throw ResourceExhaustedError(
        fmt::format("{} answered with more than {} bytes", url, kMaxBodyBytes));
  if (result != CURLE_OK)
    throw UnavailableError(fmt::format("{}: {}", url, curl_easy_strerror(result)));
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  return response;
}

}  // namespace crochet::inline v0::cloud::internal
