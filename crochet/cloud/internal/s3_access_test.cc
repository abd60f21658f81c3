// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/s3_access.h"

#include <stdlib.h>

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Variables of the environment, as they are during a test.
class S3AccessTest : public testing::Test {
 protected:
  S3AccessTest() {
    for (const char* const name :
         {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
          "AWS_SHARED_CREDENTIALS_FILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
          "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE", "HOME"}) {
      const char* const value = ::getenv(name);
      if (value != nullptr) before_[name] = value;
      ::unsetenv(name);
      names_.emplace_back(name);
    }
    set("AWS_EC2_METADATA_DISABLED", "true");
    set("HOME", temp_ / "home");
  }
  ~S3AccessTest() override {
    for (const std::string& name : names_) {
      ::unsetenv(name.c_str());
      if (const auto found = before_.find(name); found != before_.end()) set(name, found->second);
    }
  }
  static void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }

  TempDirectory temp_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> before_;
};

TEST(S3PlaceTest, ReadsUrls) {
  const S3Place place = parse_s3_url("s3://my.bucket-1/runs/digits/");
  EXPECT_EQ(place.bucket, "my.bucket-1");
  EXPECT_EQ(place.prefix, "runs/digits");
  EXPECT_EQ(place.url(), "s3://my.bucket-1/runs/digits");
  EXPECT_EQ(parse_s3_url("s3://bucket").prefix, "");
}

TEST(S3PlaceTest, RefusesOtherText) {
  for (const char* const url :
       {"", "s3://", "s3:/bucket", "bucket/prefix", "gs://bucket/p", "s3://ab/p", "s3://Bucket/p",
        "s3://-bucket/p", "s3://buc_ket/p", "s3://bucket/a//b", "s3://bucket/../b", "s3://bucket/.",
        "s3://bucket/a\nb", "s3://bucket@host/p", "s3://bucket:80/p"})
    EXPECT_THAT([&] { parse_s3_url(url); }, ThrowsMessage<InvalidArgumentError>(HasSubstr("s3://")))
        << url;
}

TEST_F(S3AccessTest, FindsAmazonsHosts) {
  set("AWS_REGION", "eu-central-1");
  EXPECT_EQ(find_s3_server("bucket").server.host, "bucket.s3.eu-central-1.amazonaws.com");
  EXPECT_EQ(find_s3_server("bucket").root, "");
  EXPECT_TRUE(find_s3_server("bucket").server.is_https);
  EXPECT_EQ(find_s3_server("my.bucket").server.host, "s3.eu-central-1.amazonaws.com");
  EXPECT_EQ(find_s3_server("my.bucket").root, "/my.bucket");
}

TEST_F(S3AccessTest, FindsOtherStores) {
  set("AWS_ENDPOINT_URL", "http://127.0.0.1:9000/");
  const S3Server found = find_s3_server("bucket");
  EXPECT_EQ(found.server.host, "127.0.0.1:9000");
  EXPECT_FALSE(found.server.is_https);
  EXPECT_EQ(found.root, "/bucket");
  EXPECT_EQ(found.region, "us-east-1");
  set("AWS_ENDPOINT_URL_S3", "ftp://host");
  EXPECT_THAT([] { find_s3_server("bucket"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("expected http://")));
}

TEST_F(S3AccessTest, TakesCredentialsOfTheEnvironmentFirst) {
  FileSystem& files = FileSystem::posix();
  files.create_directories(temp_ / "home/.aws");
  replace_file(files, temp_ / "home/.aws/credentials",
               "# of two people\n[default]\naws_access_key_id = KEY1\r\n"
               "aws_secret_access_key=SECRET=1\n\n[ other ]\naws_access_key_id = KEY2\n"
               "aws_secret_access_key = SECRET2\naws_session_token = TOKEN2");
  EXPECT_EQ(find_s3_credentials().key_id, "KEY1");
  EXPECT_EQ(find_s3_credentials().secret, "SECRET=1");
  set("AWS_PROFILE", "other");
  EXPECT_EQ(find_s3_credentials().key_id, "KEY2");
  EXPECT_EQ(find_s3_credentials().token, "TOKEN2");
  set("AWS_ACCESS_KEY_ID", "KEY3");
  EXPECT_EQ(find_s3_credentials().key_id, "KEY2") << "half of a pair does not count";
  set("AWS_SECRET_ACCESS_KEY", "SECRET3");
  EXPECT_EQ(find_s3_credentials().key_id, "KEY3");
}

TEST_F(S3AccessTest, SaysWhereItHasLooked) {
  EXPECT_THAT(find_s3_credentials,
              ThrowsMessage<UnauthenticatedError>(HasSubstr("AWS_ACCESS_KEY_ID")));
}

}  // namespace
}  // namespace crochet::inline v0::cloud::internal
