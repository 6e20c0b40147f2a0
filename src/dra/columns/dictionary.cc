#include "dra/columns/dictionary.h"

#include <cstring>

#include "base/assert.h"

namespace berth::dra {
namespace {

using Form = ValueKey::Form;

constexpr std::size_t kFirstChunkBytes = 256, kChunkBytesMax = 64 * 1024;
constexpr std::size_t kFirstIndex = 16;

}  // namespace

std::uint64_t Dictionary::hash_of(const ValueKey& key) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15u;
  const std::uint64_t base = key.form == Form::Int || key.form == Form::Bool
                                 ? static_cast<std::uint64_t>(key.number)
                                 : std::hash<std::string_view>()(key.text);
  const std::uint64_t mixed = (base + static_cast<std::uint64_t>(key.form)) * kMix;
  return mixed ^ (mixed >> 32);
}

std::uint32_t Dictionary::find(const ValueKey& key) const {
  if (index_.empty()) return kNoValue;
  const std::size_t mask = index_.size() - 1;
  for (std::size_t at = hash_of(key) & mask;; at = (at + 1) & mask)
    if (index_[at] == kNoValue || key_at(index_[at]) == key) return index_[at];
}

std::uint32_t Dictionary::add(const ValueKey& key, cel::Value value) {
  DictionaryValue entry;
  entry.form = key.form;
  entry.length = static_cast<std::uint32_t>(key.text.size());
  if (key.form == Form::Text) {
    entry.text = keep({}, key.text);
  } else if (key.form == Form::Encoded) {
    const auto index = static_cast<std::uint32_t>(others_.size());
    has_library_values_ |= cel::is_of_library(value);
    others_.push_back(std::move(value));
    entry.text = keep({reinterpret_cast<const char*>(&index), sizeof index}, key.text);
  } else {
    entry.number = key.number;
  }
  const std::uint32_t code = size();
  BERTH_ASSERT(code != UINT32_MAX, "a column has fewer values than there are devices");
  entries_.push_back(entry);
  if (index_.size() * 2 < entries_.size() * 3) {
    grow_index();
  } else {
    std::size_t at = hash_of(key) & (index_.size() - 1);
    while (index_[at] != kNoValue) at = (at + 1) & (index_.size() - 1);
    index_[at] = code;
  }
  return code;
}

void Dictionary::grow_index() {
  index_.assign(std::max(kFirstIndex, index_.size() * 2), kNoValue);
  const std::size_t mask = index_.size() - 1;
  for (std::uint32_t code = 1; code < size(); ++code) {
    std::size_t at = hash_of(key_at(code)) & mask;
    while (index_[at] != kNoValue) at = (at + 1) & mask;
    index_[at] = code;
  }
}

const char* Dictionary::keep(std::string_view prefix, std::string_view text) {
  const std::size_t size = prefix.size() + text.size();
  if (chunk_used_ + size > chunk_size_) {
    chunk_size_ = std::max(size, std::min(kChunkBytesMax, std::max(kFirstChunkBytes, chunk_bytes_)));
    chunks_.push_back(std::make_unique<char[]>(chunk_size_));
    chunk_bytes_ += chunk_size_;
    chunk_used_ = 0;
  }
  char* out = chunks_.back().get() + chunk_used_;
  if (!prefix.empty()) std::memcpy(out, prefix.data(), prefix.size());
  if (!text.empty()) std::memcpy(out + prefix.size(), text.data(), text.size());
  chunk_used_ += size;
  return out;
}

cel::Value Dictionary::at(std::uint32_t code) const {
  const DictionaryValue& entry = entries_[code];
  switch (entry.form) {
    case Form::Int:
      return cel::Value::of_int(entry.number);
    case Form::Bool:
      return cel::Value::of_bool(entry.number != 0);
    case Form::Text:
      return cel::Value::borrow_string({entry.text, entry.length});
    default: {
      std::uint32_t index = 0;
      std::memcpy(&index, entry.text, sizeof index);
      return others_[index];
    }
  }
}

std::size_t Dictionary::bytes() const {
  return entries_.capacity() * sizeof(DictionaryValue) + index_.capacity() * sizeof(std::uint32_t) +
         others_.capacity() * sizeof(cel::Value) + chunk_bytes_;
}

}  // namespace berth::dra
