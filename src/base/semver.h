// A semantic version, strictly as semver 2.0.0 defines it.
//
// Order: by precedence; build metadata is ignored in order and equality.
// Source: semver.org 2.0.0; used by DRA version attributes and the CEL semver library.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth {

inline constexpr std::size_t kSemVerLengthMax = 256;

class SemVer {
 public:
  SemVer() = default;
  SemVer(std::uint64_t major, std::uint64_t minor, std::uint64_t patch)
      : major_(major), minor_(minor), patch_(patch) {}

  std::uint64_t major() const { return major_; }
  std::uint64_t minor() const { return minor_; }
  std::uint64_t patch() const { return patch_; }
  // Dot-separated identifiers, without the leading '+'.
  const std::string& build() const { return build_; }

  std::string text() const;

  friend std::strong_ordering operator<=>(const SemVer& a, const SemVer& b);
  friend bool operator==(const SemVer& a, const SemVer& b) { return (a <=> b) == 0; }

 private:
  friend Result<SemVer> parse_semver(std::string_view text);
  std::uint64_t major_ = 0;
  std::uint64_t minor_ = 0;
  std::uint64_t patch_ = 0;
  std::string prerelease_;
  std::string build_;
};

// Refuses a leading "v", missing parts, leading zeros and numbers beyond 64 bits. Error texts are those of
// Kubernetes' library.
Result<SemVer> parse_semver(std::string_view text);

// Adds missing minor and patch, drops a leading "v" and leading zeros: "v1.02" becomes "1.2.0".
std::string normalized_semver_text(std::string_view text);

}  // namespace berth
