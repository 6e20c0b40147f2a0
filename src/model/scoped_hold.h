// A hold in the ledger that ends with this object. Outside of transactions, on the ledger's thread.
#pragma once

#include <cstdint>
#include <utility>

#include "model/ledger.h"

namespace berth::model {

// The priority of a hold that entries of this priority respect, too.
constexpr std::int32_t binding_equals(std::int32_t priority) {
  return priority == INT32_MAX ? priority : priority + 1;
}

class ScopedHold {
 public:
  // The ledger outlives it.
  ScopedHold(Ledger& ledger, Hold hold) : ledger_(&ledger), id_(ledger.add(std::move(hold))) {}
  ScopedHold(ScopedHold&& other) noexcept : ledger_(std::exchange(other.ledger_, nullptr)), id_(other.id_) {}
  ScopedHold& operator=(ScopedHold&&) = delete;
  ScopedHold(const ScopedHold&) = delete;
  ScopedHold& operator=(const ScopedHold&) = delete;
  ~ScopedHold() {
    if (ledger_) ledger_->release(id_);
  }

  Ledger::HoldId id() const { return id_; }
  const Hold& hold() const { return ledger_->holds().at(id_); }

 private:
  Ledger* ledger_;
  Ledger::HoldId id_;
};

}  // namespace berth::model
