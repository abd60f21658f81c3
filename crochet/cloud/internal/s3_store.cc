// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/s3_store.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/random.h"
#include "crochet/cloud/internal/checksums.h"
#include "crochet/cloud/internal/parse_utc.h"
#include "crochet/cloud/internal/s3_answers.h"

namespace crochet::inline v0::cloud::internal {
namespace {

constexpr int kMaxAttempts = 6;
constexpr double kFirstPauseSecs = 0.25;
constexpr double kStallSecs = 60;
constexpr size_t kMaxPageBytes = size_t{16} << 20;  // A page has at most 1,000 keys of 1 KiB.
constexpr double kRenewSecs = 300;                  // Before credentials end.
// The header of a request without a body.
constexpr const char* kShaOfNothing =
    "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// What to do about an answer.
enum class Verdict { kDone, kRepeat, kRenew, kFail };

bool is_any_of(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::ranges::find(codes, code) != codes.end();
}

Verdict verdict_on(int status, std::string_view code) {
  if (status / 100 == 2) return Verdict::kDone;
  if (is_any_of(code, {"ExpiredToken", "RequestExpired", "InvalidToken", "TokenRefreshRequired",
                       "InvalidAccessKeyId"}))
    return Verdict::kRenew;
  // The bytes have changed on the way, or the connection was too slow for the server.
  if (is_any_of(code, {"BadDigest", "XAmzContentSHA256Mismatch", "InvalidDigest", "RequestTimeout",
                       "IncompleteBody"}))
    return Verdict::kRepeat;
  return status == 408 || status == 409 || status == 429 || status >= 500 ? Verdict::kRepeat
                                                                          : Verdict::kFail;
}

[[noreturn]] void throw_failure(const std::string& what, int status, const S3Failure& failure) {
  const std::string text = fmt::format("{}: the store answered {}{}{}{}{}", what, status,
                                       failure.code.empty() ? "" : " ", failure.code,
                                       failure.message.empty() ? "" : ": ", failure.message);
  if (is_any_of(failure.code, {"BadDigest", "XAmzContentSHA256Mismatch", "InvalidDigest"}))
    throw DataLossError(text);
  if (verdict_on(status, failure.code) == Verdict::kRenew) throw UnauthenticatedError(text);
  switch (status) {
    case 301:
    case 307:
      throw FailedPreconditionError(text + "; AWS_REGION is to be that of the bucket");
    case 400:
      throw InvalidArgumentError(text);
    case 401:
      throw UnauthenticatedError(text);
    case 403:
      throw PermissionDeniedError(text);
    case 404:
      throw NotFoundError(text);
    case 412:
      throw AlreadyExistsError(text);
    case 416:
      throw DataLossError(text);
    case 501:
      throw UnimplementedError(text);
    default:
      throw UnavailableError(text);
  }
}

HttpBody body_of(const std::string& text) {
  return {.size = text.size(), .read = [&text](uint64_t offset, std::span<std::byte> into) {
            std::memcpy(into.data(), text.data() + offset, into.size());
          }};
}

}  // namespace

// Returns the client when it is destroyed.
class S3Store::Lease {
 public:
  explicit Lease(S3Store& store) : shared_(*store.shared_) {
    {
      const std::scoped_lock lock(shared_.mutex);
      if (!shared_.clients.empty()) {
        client_ = std::move(shared_.clients.back());
        shared_.clients.pop_back();
      }
    }
    if (!client_) client_ = std::make_unique<HttpClient>(store.server_.server);
  }
  ~Lease() {
    const std::scoped_lock lock(shared_.mutex);
    shared_.clients.push_back(std::move(client_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  HttpClient& client() { return *client_; }

 private:
  Shared& shared_;
  std::unique_ptr<HttpClient> client_;
};

S3Store::S3Store(std::string bucket, Clock& clock)
    : bucket_(std::move(bucket)), server_(find_s3_server(bucket_)), clock_(clock) {
  static_cast<void>(Lease(*this));  // A host that cannot be one is an error at once.
}

S3Store::~S3Store() = default;

std::string S3Store::url_of(const std::string& key) const {
  return S3Place{.bucket = bucket_, .prefix = key}.url();
}

S3Credentials S3Store::credentials(bool is_renewed) {
  Shared& shared = *shared_;
  const std::scoped_lock lock(shared.mutex);
  std::optional<S3Credentials>& known = shared.credentials;
  if (known && known->ends_at.value_or(INFINITY) < clock_.wall_time() + kRenewSecs) known.reset();
  if (is_renewed || !known) known = find_s3_credentials();
  return *known;
}

HttpResponse S3Store::send(const std::string& what, const std::string& key,
                           const std::string& query, HttpRequest request,
                           const std::stop_token& stop) {
  request.path =
      server_.root + "/" + url_encoded(key, UrlPart::kPath) + (query.empty() ? "" : "?") + query;
  request.timeout_secs = 0;
  request.stall_secs = kStallSecs;
  const std::vector<std::string> headers = request.headers;
  bool is_renewed = false;
  double pause_secs = kFirstPauseSecs;
  Lease lease(*this);
  for (int attempt = 1;; ++attempt) {
    const S3Credentials own = credentials(is_renewed);
    request.signature = {
        .service = "s3", .region = server_.region, .key_id = own.key_id, .secret = own.secret};
    request.headers = headers;
    if (!own.token.empty()) request.headers.push_back("x-amz-security-token: " + own.token);
    try {
      const auto response = lease.client().send(request, stop);
      if (!response) throw CancelledError(what + ": ended early, as requested");
      const S3Failure failure =
          response->status / 100 == 2 ? S3Failure() : read_s3_failure(response->body);
      switch (verdict_on(response->status, failure.code)) {
        case Verdict::kDone:
          return *response;
        case Verdict::kRenew:
          if (std::exchange(is_renewed, true)) throw_failure(what, response->status, failure);
          continue;
        case Verdict::kRepeat:
          if (attempt < kMaxAttempts) break;
          [[fallthrough]];
        case Verdict::kFail:
          throw_failure(what, response->status, failure);
      }
    } catch (const UnavailableError& error) {
      if (attempt >= kMaxAttempts)
        throw UnavailableError(fmt::format("{}: {}", what, error.what()));
    }
    is_renewed = false;
    // Not all at once, if several threads have failed.
    const double part = static_cast<double>(crochet::internal::random_number() % 1000) / 1000;
    if (!clock_.sleep_for(from_seconds(pause_secs * (0.5 + part)), stop))
      throw CancelledError(what + ": ended early, as requested");
    pause_secs *= 2;
  }
}

uint32_t S3Store::put_with(const std::string& key, const HttpBody& body, bool is_new,
                           const std::stop_token& stop) {
  const BodyChecksums checksums = checksums_of(body);
  HttpRequest request{.method = HttpMethod::kPut,
                      .headers = {"x-amz-content-sha256: " + checksums.sha256,
                                  "x-amz-sdk-checksum-algorithm: CRC32C",
                                  "x-amz-checksum-crc32c: " + checksums.crc32c_text()},
                      .body = body};
  if (is_new) request.headers.emplace_back("If-None-Match: *");
  send("putting " + url_of(key), key, "", std::move(request), stop);
  return checksums.crc32c;
}

uint32_t S3Store::put(const std::string& key, const HttpBody& body, const std::stop_token& stop) {
  return put_with(key, body, /*is_new=*/false, stop);
}

void S3Store::put_new(const std::string& key, const std::string& text,
                      const std::stop_token& stop) {
  put_with(key, body_of(text), /*is_new=*/true, stop);
}

void S3Store::get(const std::string& key, uint64_t offset, std::span<std::byte> into,
                  const std::stop_token& stop) {
  if (into.empty()) return;
  const std::string what = "reading " + url_of(key);
  const HttpResponse response =
      send(what, key, "",
           {.headers = {kShaOfNothing,
                        fmt::format("Range: bytes={}-{}", offset, offset + into.size() - 1)},
            .into = into},
           stop);
  if (response.status != 206 && !(response.status == 200 && offset == 0))
    throw UnimplementedError(fmt::format(
        "{}: the store answered {} to a request of a part, expected 206", what, response.status));
  if (response.num_received != into.size())
    throw DataLossError(fmt::format("{}: {} bytes from {} on were received, expected {}", what,
                                    response.num_received, offset, into.size()));
}

std::string S3Store::get_text(const std::string& key, size_t max_bytes,
                              const std::stop_token& stop) {
  return send("reading " + url_of(key), key, "",
              {.headers = {kShaOfNothing}, .max_body_bytes = max_bytes}, stop)
      .body;
}

ObjectListing S3Store::list(const std::string& prefix, const std::stop_token& stop) {
  ObjectListing listing;
  std::string token;
  do {
    // The parts of the query are sorted, as the signature requires.
    std::string query =
        token.empty() ? "" : "continuation-token=" + url_encoded(token, UrlPart::kValue) + "&";
    query += "encoding-type=url&list-type=2&prefix=" + url_encoded(prefix, UrlPart::kValue);
    const HttpResponse response =
        send("listing " + url_of(prefix), "", query,
             {.headers = {kShaOfNothing}, .max_body_bytes = kMaxPageBytes}, stop);
    S3Page page = read_s3_page(response.body);
    std::ranges::move(page.objects, std::back_inserter(listing.objects));
    listing.time = parse_utc(response.date).value_or(clock_.wall_time());
    token = std::move(page.next);
  } while (!token.empty());
  return listing;
}

void S3Store::remove(const std::string& key, const std::stop_token& stop) {
  try {
    send("removing " + url_of(key), key, "",
         {.method = HttpMethod::kDelete, .headers = {kShaOfNothing}}, stop);
  } catch (const NotFoundError&) {
  }
}

}  // namespace crochet::inline v0::cloud::internal
