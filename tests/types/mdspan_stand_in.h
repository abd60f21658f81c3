// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <utility>

// As much of C++23's std::mdspan as crochet/mdspan.h uses: ISO C++23, [mdspan.mdspan].
namespace md {

template <typename Index, size_t kRank>
struct dextents {
  template <typename... Sizes>
  requires(sizeof...(Sizes) == kRank) explicit dextents(Sizes... sizes)
      : sizes{static_cast<Index>(sizes)...} {}
  using index_type = Index;
  static constexpr size_t rank() { return kRank; }
  Index extent(size_t r) const { return sizes[r]; }
  std::array<Index, kRank> sizes;
};

// A mapping by strides, of which layout_right and layout_left are two.
template <typename Extents, bool kLastIsFastest>
class StrideMapping {
 public:
  using Strides = std::array<typename Extents::index_type, Extents::rank()>;
  explicit StrideMapping(const Extents& extents) : extents_(extents) {
    typename Extents::index_type stride = 1;
    for (size_t i = 0; i < Extents::rank(); ++i) {
      const size_t r = kLastIsFastest ? Extents::rank() - 1 - i : i;
      strides_[r] = std::exchange(stride, stride * extents.extent(r));
    }
  }
  StrideMapping(const Extents& extents, const Strides& strides)
      : extents_(extents), strides_(strides) {}
  const Extents& extents() const { return extents_; }
  auto stride(size_t r) const { return strides_[r]; }
  auto required_span_size() const {
    typename Extents::index_type last = 1;
    for (size_t r = 0; r < Extents::rank(); ++r) last += (extents_.extent(r) - 1) * strides_[r];
    return last;
  }

 private:
  Extents extents_;
  Strides strides_;
};

struct layout_right {
  template <typename Extents>
  using mapping = StrideMapping<Extents, true>;
};
struct layout_left {
  template <typename Extents>
  using mapping = StrideMapping<Extents, false>;
};
struct layout_stride {
  template <typename Extents>
  using mapping = StrideMapping<Extents, true>;
};

template <typename E, typename Extents, typename Layout>
class mdspan {
 public:
  using element_type = E;
  using extents_type = Extents;
  using layout_type = Layout;
  using data_handle_type = E*;
  using mapping_type = typename Layout::template mapping<Extents>;
  struct accessor_type {};
  template <typename... Sizes>
  requires(sizeof...(Sizes) == Extents::rank()) mdspan(E* data, Sizes... sizes)
      : data_(data), mapping_(Extents(sizes...)) {}
  mdspan(E* data, const mapping_type& mapping) : data_(data), mapping_(mapping) {}
  static constexpr size_t rank() { return Extents::rank(); }
  const data_handle_type& data_handle() const { return data_; }
  const mapping_type& mapping() const { return mapping_; }
  auto extent(size_t r) const { return mapping_.extents().extent(r); }

 private:
  E* data_;
  mapping_type mapping_;
};

}  // namespace md
