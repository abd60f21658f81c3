// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tracks types that say how cereal serialises them, as they are: by a member or a free function,
// which may have a version.
//
// - `serialize` lists members, under the names that CEREAL_NVP and make_nvp() give, or else as
//   "value0", "value1", ...; each is tracked like any other value, so that arrays stay arrays, and
//   a vector of such objects becomes a column for each member. It is called when the value is
//   tracked, and again at saves and restores of what is in a container: it must not do more, and
//   must not ask whether the archive loads or saves.
// - `save` and `load`, `save_minimal` and `load_minimal`, and pointers to base classes whose
//   derived classes CEREAL_REGISTER_TYPE names, are written and read as a whole, as a tree of
//   values. Include this header before CEREAL_REGISTER_TYPE.
//
// archived(value) tracks a value in the second way, whatever it has, and as_bytes(value) as one
// array of bytes.
//
// Types that crochet tracks by itself, such as those of the standard library, and types with
// `track`, are tracked as always. Source: cereal 1.3.2, https://uscilab.github.io/cereal.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include <cereal/archives/portable_binary.hpp>
#include <cereal/cereal.hpp>
#include <cereal/types/base_class.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/polymorphic.hpp>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/session/saveable.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/internal/archive_tree.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0::internal {

// ---- What cereal wraps values in.

template <typename T>
inline constexpr bool kIsCerealPair = false;
template <typename T>
inline constexpr bool kIsCerealPair<cereal::NameValuePair<T>> = true;
template <typename T>
inline constexpr bool kIsCerealSize = false;
template <typename T>
inline constexpr bool kIsCerealSize<cereal::SizeTag<T>> = true;
template <typename T>
inline constexpr bool kIsCerealBase = false;
template <typename T>
inline constexpr bool kIsCerealBase<cereal::base_class<T>> = true;
template <typename T>
inline constexpr bool kIsCerealBase<cereal::virtual_base_class<T>> = true;
template <typename T>
inline constexpr bool kIsCerealDeferred = false;
template <typename T>
inline constexpr bool kIsCerealDeferred<cereal::DeferredData<T>> = true;

// Numbers in one piece of memory.
template <typename T>
struct CerealBinary {
  static constexpr bool kIs = false;
};
template <typename T>
struct CerealBinary<cereal::BinaryData<T>> {
  static constexpr bool kIs = true;
  using Pointed = std::remove_pointer_t<std::remove_all_extents_t<std::remove_reference_t<T>>>;
  static constexpr bool kIsConst = std::is_const_v<Pointed>;
  using Number = std::remove_const_t<Pointed>;
  using Element = std::conditional_t<crochet::Element<Number>, Number, uint8_t>;
};

// ---- Listing members.

// In serialize(), a value of the checkpoint is not known yet.
template <typename T>
struct CerealDirection {
  static_assert(
      !std::same_as<T, T>,
      "crochet calls serialize() to learn which members there are, neither to load nor to "
      "save them: split it into save() and load(), or track crochet::archived(value)");
};

// The archive of which serialize() is a template.
class CROCHET_EXPORT CerealLister {
 public:
  using is_loading = CerealDirection<CerealLister>;
  using is_saving = CerealDirection<CerealLister>;

  // `frame` is that of the function that calls serialize().
  CerealLister(Tracker& here, const void* frame) : here_(here), frame_(frame) {}

  template <typename... Ts>
  CerealLister& operator()(Ts&&... values) {
    (add(std::forward<Ts>(values)), ...);
    return *this;
  }
  template <typename T>
  CerealLister& operator&(T&& value) {
    return (*this)(std::forward<T>(value));
  }

 private:
  template <typename T>
  void add(T&& value) {
    using Value = std::remove_cvref_t<T>;
    if constexpr (kIsCerealPair<Value>) {
      static_assert(std::is_reference_v<decltype(value.value)> ||
                        kIsCerealBase<std::remove_cvref_t<decltype(value.value)>> ||
                        CerealBinary<std::remove_cvref_t<decltype(value.value)>>::kIs,
                    "crochet cannot track a temporary of serialize(): split it into save() and "
                    "load(), or track crochet::archived(value)");
      list(value.name, value.value);
    } else if constexpr (kIsCerealDeferred<Value>) {
      add(value.value);
    } else if constexpr (kIsCerealBase<Value>) {
      track_base(here_, *value.base_ptr);
    } else {
      static_assert(std::is_lvalue_reference_v<T> || CerealBinary<Value>::kIs,
                    "crochet cannot track a temporary of serialize(): split it into save() and "
                    "load(), or track crochet::archived(value)");
      list("value" + std::to_string(num_unnamed_++), value);
    }
  }

  template <typename T>
  void list(const std::string& name, T& value) {
    using Value = std::remove_cvref_t<T>;
    static_assert(
        !kIsCerealSize<Value>,
        "crochet cannot list elements by serialize(): split it into save() and load(), or "
        "track crochet::archived(value)");
    if constexpr (kIsCerealBase<Value>) {
      here_(name,
            BaseReference<std::remove_reference_t<decltype(*value.base_ptr)>>{*value.base_ptr});
    } else if constexpr (CerealBinary<Value>::kIs) {
      static_assert(!CerealBinary<Value>::kIsConst, "crochet cannot restore what is const");
      using Element = typename CerealBinary<Value>::Element;
      here_(name, std::span<Element>(static_cast<Element*>(value.data),
                                     static_cast<size_t>(value.size) / sizeof(Element)));
    } else {
      check_is_no_local(name, &value);
      here_(name, value);
    }
  }

  template <typename Base>
  struct BaseReference {
    using ReferenceToTracked = void;
    void track(Tracker& here) { track_base(here, base); }

    Base& base;
  };
  template <typename Base>
  static void track_base(Tracker& here, Base& base);

  // A variable of serialize() is gone when it returns. It is in a frame between this one and that
  // of the caller.
  [[gnu::noinline]] void check_is_no_local(const std::string& name, const void* value) const {
    const auto at = reinterpret_cast<uintptr_t>(value);
    if (at > reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) &&
        at < reinterpret_cast<uintptr_t>(frame_))
      throw InvalidArgumentError("\"" + here_.name() + "\": \"" + name +
                                 "\" is a variable of serialize(), which is gone when it returns: "
                                 "split it into save() and load(), or track crochet::archived()");
  }

  Tracker& here_;
  const void* frame_;
  int num_unnamed_ = 0;
};

// ---- Writing and reading as a whole.

class CROCHET_EXPORT CerealWriter : public cereal::OutputArchive<CerealWriter> {
 public:
  CerealWriter() : OutputArchive(this) {}

  ArchiveTreeWriter tree;
};

class CROCHET_EXPORT CerealReader : public cereal::InputArchive<CerealReader> {
 public:
  explicit CerealReader(const TensorMap& tensors) : InputArchive(this), tree(tensors) {}

  ArchiveTreeReader tree;
};

}  // namespace crochet::inline v0::internal

CEREAL_SETUP_ARCHIVE_TRAITS(crochet::internal::CerealReader, crochet::internal::CerealWriter)

namespace crochet::inline v0::internal {

// An object with members of its own, or the parts of a container or an array.
template <typename T>
concept CerealNode = (std::is_class_v<T> || std::is_array_v<T>)&&!std::same_as<T, std::string> &&
                     !kIsCerealPair<T> && !kIsCerealSize<T> && !kIsCerealDeferred<T> &&
                     !CerealBinary<T>::kIs &&
                     !cereal::traits::has_minimal_output_serialization<T, CerealWriter>::value &&
                     !cereal::traits::has_minimal_base_class_serialization<
                         T, cereal::traits::has_minimal_output_serialization, CerealWriter>::value;

// cereal calls these around each value: nothing, the name of the next one, or a node.
template <typename T>
void prologue(CerealWriter&, const T&) {}
template <typename T>
void epilogue(CerealWriter&, const T&) {}
template <CerealNode T>
void prologue(CerealWriter& archive, const T&) {
  archive.tree.begin_node();
}
template <CerealNode T>
void epilogue(CerealWriter& archive, const T&) {
  archive.tree.end_node();
}
template <typename T>
void prologue(CerealReader&, const T&) {}
template <typename T>
void epilogue(CerealReader&, const T&) {}
template <CerealNode T>
void prologue(CerealReader& archive, const T&) {
  archive.tree.begin_node();
}
template <CerealNode T>
void epilogue(CerealReader& archive, const T&) {
  archive.tree.end_node();
}

template <typename T>
void CEREAL_SAVE_FUNCTION_NAME(CerealWriter& archive, const cereal::NameValuePair<T>& pair) {
  archive.tree.next_name(pair.name);
  archive(pair.value);
}
template <typename T>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& archive, cereal::NameValuePair<T>& pair) {
  archive.tree.next_name(pair.name);
  archive(pair.value);
}

template <typename T>
void CEREAL_SAVE_FUNCTION_NAME(CerealWriter& archive, const cereal::SizeTag<T>& tag) {
  archive.tree.add_size(static_cast<uint64_t>(tag.size));
}
template <typename T>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& archive, cereal::SizeTag<T>& tag) {
  tag.size = static_cast<std::remove_reference_t<T>>(archive.tree.take_size());
}

template <typename T>
requires std::is_arithmetic_v<T>
void CEREAL_SAVE_FUNCTION_NAME(CerealWriter& archive, const T& value) {
  static_assert(Element<T>, "crochet has no tensors of long double");
  archive.tree.add(Tensor::scalar(value));
}
template <typename T>
requires std::is_arithmetic_v<T>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& archive, T& value) {
  value = archive.tree.take(dtype_of<T>).template scalar<T>();
}

template <typename Traits, typename Allocator>
void CEREAL_SAVE_FUNCTION_NAME(CerealWriter& archive,
                               const std::basic_string<char, Traits, Allocator>& text) {
  archive.tree.add(Tensor::scalar(std::string(text.begin(), text.end())));
}
template <typename Traits, typename Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& archive,
                               std::basic_string<char, Traits, Allocator>& text) {
  text = archive.tree.take(DType::kString).strings().front();
}

template <typename T>
void CEREAL_SAVE_FUNCTION_NAME(CerealWriter& archive, const cereal::BinaryData<T>& data) {
  archive.tree.add_array(
      dtype_of<typename CerealBinary<cereal::BinaryData<T>>::Element>,
      {static_cast<const std::byte*>(data.data), static_cast<size_t>(data.size)});
}
template <typename T>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& archive, cereal::BinaryData<T>& data) {
  archive.tree.take_array(dtype_of<typename CerealBinary<cereal::BinaryData<T>>::Element>,
                          {static_cast<std::byte*>(data.data), static_cast<size_t>(data.size)});
}

// As cereal writes it.
template <typename T>
requires(std::is_array_v<T>&& std::is_arithmetic_v<std::remove_all_extents_t<T>>)  //
    void CEREAL_SERIALIZE_FUNCTION_NAME(CerealReader& archive, T& array) {
  archive(cereal::binary_data(array, sizeof(array)));
}

// What cereal throws, as an error that begins with `place`.
template <typename Action>
auto with_cereal(const std::string& place, const Action& action) {
  try {
    return action();
  } catch (const cereal::Exception& error) {
    throw InvalidArgumentError(place + error.what());
  }
}

template <typename T>
TensorMap written_by_cereal(const std::string& name, const T& value) {
  return with_cereal("\"" + name + "\": ", [&] {
    CerealWriter archive;
    archive(value);
    archive.serializeDeferments();
    return archive.tree.take();
  });
}

template <typename T>
void read_by_cereal(const TensorMap& tensors, T& value) {
  with_cereal("", [&] {
    CerealReader archive(tensors);
    archive(value);
    archive.serializeDeferments();
    archive.tree.check_all_is_read();
  });
}

template <typename T>
std::shared_ptr<Saveable> saveable_by_cereal(std::string name, T& value) {
  return make_saveable([name = std::move(name), &value] { return written_by_cereal(name, value); },
                       [&value](const TensorMap& state) { read_by_cereal(state, value); });
}

// ---- Which types are tracked so.

template <typename T>
concept VersionedCereal = cereal::traits::has_member_versioned_serialize<T, CerealLister>::value ||
    cereal::traits::has_non_member_versioned_serialize<T, CerealLister>::value;

template <typename T>
concept ListedByCereal =
    VersionedCereal<T> || cereal::traits::has_member_serialize<T, CerealLister>::value ||
    cereal::traits::has_non_member_serialize<T, CerealLister>::value;

template <typename T>
concept WrittenByCereal = cereal::traits::is_output_serializable<T, CerealWriter>::value &&
    cereal::traits::is_input_serializable<T, CerealReader>::value;

// A pointer to a base class that lists nothing itself: the classes are those that cereal knows.
template <typename T>
concept CerealPointer =
    kIsPointer<T> && BaseClass<typename NulledOf<T>::Type> &&
    !ListsClasses<typename NulledOf<T>::Type> &&
    !TracksItself<typename NulledOf<T>::Type> && !TrackedByFunction<typename NulledOf<T>::Type>;

// Containers of other libraries, for which <cereal/types/map.hpp> and the like have functions, are
// tracked as those of the standard library are.
template <typename T>
concept ForeignContainer = (MapLike<T> || SetLike<T> || Sequence<T>)&&!(
    cereal::traits::has_member_serialize<T, CerealLister>::value ||
    cereal::traits::has_member_save<T, CerealWriter>::value);
template <typename T>
concept CerealClass =
    std::is_class_v<T> && !std::is_const_v<T> && !is_standard<T>() && !ForeignContainer<T> &&
    !TrackedReference<T> && (ListedByCereal<T> || WrittenByCereal<T>);

template <typename T>
void list_by_cereal(Tracker& here, T& value, uint32_t version) {
  CerealLister lister(here, __builtin_frame_address(0));
  if constexpr (cereal::traits::has_member_versioned_serialize<T, CerealLister>::value)
    cereal::access::member_serialize(lister, value, version);
  else if constexpr (cereal::traits::has_non_member_versioned_serialize<T, CerealLister>::value)
    CEREAL_SERIALIZE_FUNCTION_NAME(lister, value, version);
  else if constexpr (cereal::traits::has_member_serialize<T, CerealLister>::value)
    cereal::access::member_serialize(lister, value);
  else
    CEREAL_SERIALIZE_FUNCTION_NAME(lister, value);
}

}  // namespace crochet::inline v0::internal

namespace crochet::inline v0 {

template <typename T>
requires internal::CerealClass<T> || internal::CerealPointer<T>
void track_serialized(Tracker& here, T& value) {
  if constexpr (internal::CerealClass<T> && internal::VersionedCereal<T>) {
    here.add_versioned(cereal::detail::Version<T>::version,
                       [&value](Tracker& there, uint32_t version) {
                         internal::list_by_cereal(there, value, version);
                       });
  } else if constexpr (internal::CerealClass<T> && internal::ListedByCereal<T>) {
    internal::list_by_cereal(here, value, 0);
  } else {
    here.add_object("", internal::saveable_by_cereal(here.name(), value));
  }
}

namespace internal {

template <typename Base>
void CerealLister::track_base(Tracker& here, Base& base) {
  using Own = std::remove_const_t<Base>;
  track_serialized(here, const_cast<Own&>(base));
}

template <typename T>
struct Archived {
  using ReferenceToTracked = void;
  void track(Tracker& here) { here.add_object("", saveable_by_cereal(here.name(), value)); }

  T& value;
};

template <typename T>
struct AsBytes {
  using ReferenceToTracked = void;
  void track(Tracker& here) {
    here.add_object(
        "", make_saveable([&held = value] { return saved(held); },
                          [&held = value](const TensorMap& state) { restore(held, state); }));
  }
  static TensorMap saved(const T& value) {
    std::string text;
    if constexpr (std::is_trivially_copyable_v<T>) {
      text.assign(reinterpret_cast<const char*>(&value), sizeof(T));
    } else {
      static_assert(WrittenByCereal<T>,
                    "crochet cannot track these bytes: the type is not trivially copyable, and "
                    "cereal does not serialise it");
      std::ostringstream out;
      with_cereal("", [&] { cereal::PortableBinaryOutputArchive{out}(value); });
      text = std::move(out).str();
    }
    return {{"", Tensor::from<uint8_t>({reinterpret_cast<const uint8_t*>(text.data()), text.size()},
                                       {static_cast<int64_t>(text.size())})}};
  }
  static void restore(T& value, const TensorMap& state) {
    const std::span<const uint8_t> bytes = single_vector(state, DType::kUint8).flat<uint8_t>();
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (bytes.size() != sizeof(T))
        throw InvalidArgumentError(std::to_string(bytes.size()) + " bytes are stored, expected " +
                                   std::to_string(sizeof(T)));
      std::memcpy(&value, bytes.data(), sizeof(T));
    } else {
      std::istringstream in(std::string(bytes.begin(), bytes.end()));
      with_cereal("", [&] { cereal::PortableBinaryInputArchive{in}(value); });
    }
  }

  T& value;
};

}  // namespace internal

// Tracks a value as the tree of values that cereal writes of it.
//
//   loop.track("model", archived(model));
template <typename T>
requires internal::WrittenByCereal<T>
auto archived(T& value) { return internal::Archived<T>{value}; }

// Tracks a value as one array of bytes: those of an object that is trivially copyable, or else what
// cereal's portable binary archive writes of it.
template <typename T>
auto as_bytes(T& value) {
  return internal::AsBytes<T>{value};
}

}  // namespace crochet::inline v0

CEREAL_REGISTER_ARCHIVE(crochet::internal::CerealWriter)
CEREAL_REGISTER_ARCHIVE(crochet::internal::CerealReader)
