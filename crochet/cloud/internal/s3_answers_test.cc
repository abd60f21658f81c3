// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/s3_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr const char* kPage = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
<NextContinuationToken>1ueG==</NextContinuationToken>
<Contents><Key>run/m-1/a%2Bb+c</Key><LastModified>2017-09-18T08:22:00.500Z</LastModified>
<Size>67108864</Size></Contents>
<Contents><Key>run/x</Key><LastModified>2017-09-18T08:22:00.000Z</LastModified><Size>0</Size>
</Contents></ListBucketResult>)";

TEST(S3AnswersTest, ReadsAPage) {
  const S3Page page = read_s3_page(kPage);
  ASSERT_THAT(page.objects, SizeIs(2));
  EXPECT_EQ(page.objects[0].key, "run/m-1/a+b c");
  EXPECT_EQ(page.objects[0].size, 67108864);
  EXPECT_EQ(page.objects[0].time, 1505722920.5);
  EXPECT_EQ(page.next, "1ueG==");
}

TEST(S3AnswersTest, RefusesOtherAnswers) {
  EXPECT_THAT([] { read_s3_page("<html>a login</html>"); },
              ThrowsMessage<DataLossError>(HasSubstr("expected a ListBucketResult")));
  const std::string page = kPage;
  for (const auto& [from, to] :
       {std::pair("67108864", "many"), std::pair("67108864", "-1"), std::pair("67108864", ""),
        std::pair("99999", "99999"), std::pair("run/x", ""), std::pair("run/x", "%4"),
        std::pair("run/x", "%zz"), std::pair("00.500Z", "00"), std::pair("1ueG==", "")}) {
    std::string changed = page;
    const auto at = changed.find(from);
    if (at == changed.npos) continue;
    changed.replace(at, std::string(from).size(), to);
    EXPECT_THROW(read_s3_page(changed), DataLossError) << from << " " << to;
  }
}

TEST(S3AnswersTest, NoDamageIsMoreThanAnError) {
  const std::string page = kPage;
  for (size_t i = 0; i < page.size(); ++i)
    for (const char c : {'\0', '<', '>', '&', '%', '9', '\xff'}) {
      std::string damaged = page;
      damaged[i] = c;
      for (const std::string& text : {damaged, page.substr(0, i)}) {
        try {
          read_s3_page(text);
        } catch (const DataLossError&) {
        }
        read_s3_failure(text);
      }
    }
}

TEST(S3AnswersTest, ReadsAFailure) {
  const S3Failure failure = read_s3_failure(
      "<Error><Code>AccessDenied</Code><Message>Access &amp; more</Message></Error>");
  EXPECT_EQ(failure.code, "AccessDenied");
  EXPECT_EQ(failure.message, "Access & more");
  EXPECT_EQ(read_s3_failure("<html>").code, "");
  EXPECT_EQ(read_s3_failure("").code, "");
}

TEST(S3AnswersTest, EncodesAsTheSignatureExpects) {
  EXPECT_EQ(url_encoded("a/b c+d~é", UrlPart::kPath), "a/b%20c%2Bd~%C3%A9");
  EXPECT_EQ(url_encoded("a/b=", UrlPart::kValue), "a%2Fb%3D");
  EXPECT_EQ(url_decoded("a%2fb%2F+"), "a/b/ ");
}

}  // namespace
}  // namespace crochet::inline v0::cloud::internal
