// A device with only the values that one term of a selector reads.
//
// Owner: one term, on one thread; values are replaced between evaluations.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cel/predicate_terms.h"

namespace berth::dra {

class ReadView final : public cel::ObjectSource {
 public:
  explicit ReadView(std::span<const cel::AttributeRef> readings);
  ~ReadView() override;
  ReadView(const ReadView&) = delete;
  ReadView& operator=(const ReadView&) = delete;

  // By position of the attribute reference; nullopt: the device has no such entry.
  void set(std::size_t reading, std::optional<cel::Value> value);

  std::string_view type_name() const override { return cel::kDeviceTypeName; }
  cel::Value field(std::size_t index) const override;

 private:
  class Entries;
  class Domains;

  std::vector<cel::AttributeRef> readings_;
  std::vector<std::optional<cel::Value>> values_;
  std::unique_ptr<Domains> attributes_, capacity_;
};

}  // namespace berth::dra
