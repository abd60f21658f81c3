// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::tool {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HtmlTest, TextFromAFileIsText) {
  EXPECT_EQ(html_text("<script>alert('x' & \"y\")</script>"),
            "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;");
  EXPECT_THAT(html_text("a\x1b[31m\x01\xff\n"), Not(HasSubstr("\x1b")));
  EXPECT_EQ(html_text("Größe"), "Größe");
}

TEST(HtmlTest, ATableHasItsNumbersAtTheRight) {
  const std::string table = html_table({"a", "n"}, {{"x", "1"}}, 1);
  EXPECT_THAT(table, HasSubstr("<th>a</th><th class=\"number\">n</th>"));
  EXPECT_THAT(table, HasSubstr("<td>x</td><td class=\"number\">1</td>"));
}

TEST(HtmlTest, APageNeedsNothingElse) {
  const std::string page = html_page("a<b", "<p>text</p>");
  EXPECT_THAT(page, HasSubstr("<title>a&lt;b</title>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* const reference : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(reference)));
}

}  // namespace
}  // namespace crochet::tool
