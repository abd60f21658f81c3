// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/tensor.h"

#include <complex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <typename T>
std::vector<T> elements(const at::Tensor& tensor) {
  const Tensor copy = libtorch::to_tensor(tensor);
  return {copy.flat<T>().begin(), copy.flat<T>().end()};
}

TEST(TorchTensorTest, KeepsTheBytesOfEachTypeThatBothHave) {
  const at::Tensor numbers = torch::tensor({0, 1, 2, 3, 100}, torch::kDouble);
  for (const auto type : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16,
                          torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64, torch::kUInt8,
                          torch::kBool, torch::kComplexFloat, torch::kComplexDouble}) {
    const at::Tensor tensor = numbers.to(type);
    const Tensor copy = libtorch::to_tensor(tensor);
    EXPECT_EQ(copy.shape(), Shape({5}));
    EXPECT_EQ(copy.bytes().size(), tensor.nbytes());
    const at::Tensor back = libtorch::to_torch(copy);
    EXPECT_EQ(back.scalar_type(), tensor.scalar_type());
    EXPECT_TRUE(back.equal(tensor)) << tensor.scalar_type();
  }
}

TEST(TorchTensorTest, CopiesWhatTheTensorShowsNotItsMemory) {
  const at::Tensor matrix = torch::arange(6, torch::kInt32).reshape({2, 3});
  EXPECT_THAT(elements<int32_t>(matrix.t()), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(elements<int32_t>(matrix.select(1, 1)), ElementsAre(1, 4));
  EXPECT_THAT(elements<int32_t>(torch::ones({1}, torch::kInt32).expand({3})), ElementsAre(1, 1, 1));
  const at::Tensor complex = torch::complex(torch::ones({1}), torch::ones({1}));
  EXPECT_EQ(elements<std::complex<float>>(complex.conj())[0], std::complex<float>(1, -1));
  EXPECT_EQ(elements<float>(torch::imag(complex.conj()))[0], -1);
}

TEST(TorchTensorTest, TakesEmptyAndScalarTensors) {
  EXPECT_EQ(libtorch::to_tensor(torch::empty({0, 4})).shape(), Shape({0, 4}));
  EXPECT_EQ(libtorch::to_tensor(torch::tensor(3.5)).scalar<float>(), 3.5F);
  EXPECT_EQ(libtorch::to_torch(libtorch::to_tensor(torch::empty({0, 4}))).sizes(),
            (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(libtorch::to_tensor(at::Tensor()).dtype(), DType::kInvalid);
  EXPECT_FALSE(libtorch::to_torch(Tensor()).defined());
}

TEST(TorchTensorTest, RefusesWhatIsMoreThanElements) {
  EXPECT_THAT([] { libtorch::to_tensor(torch::eye(3).to_sparse()); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("a sparse layout")));
  EXPECT_THAT([] { libtorch::to_tensor(torch::empty({2}, torch::kMeta)); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("on meta")));
  EXPECT_THAT(
      [] {
        libtorch::to_tensor(torch::quantize_per_tensor(torch::ones({2}), 0.1, 0, torch::kQInt8));
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("QInt8")));
}

TEST(TorchTensorTest, RefusesTypesThatLibTorchDoesNotHave) {
  EXPECT_THAT([] { libtorch::to_torch(Tensor::scalar(std::string("text"))); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("no tensors of string")));
}

}  // namespace
}  // namespace crochet
