// The seam to entropy: the only place that draws random bits.
#pragma once

#include <cstdint>
#include <string>

namespace berth {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;

  // A number in [0, bound). `bound` must be positive.
  std::uint64_t below(std::uint64_t bound);
  // A lower-case version 4 UUID.
  std::string uuid();
  // `length` characters of the alphabet that Kubernetes uses for generated names.
  std::string name_suffix(std::size_t length);
};

// The machine's entropy. Thread-safe.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

// The same seed gives the same sequence on every machine (SplitMix64). One thread.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

}  // namespace berth
