// Feature gates: Kubernetes' own names with 1.37's stages and defaults, and Berth's for features that only a
// document has. Source: feature gate table of Kubernetes 1.37; docs/kep-matrix.md says what each gate
// controls here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::api {

enum class GateStage : std::uint8_t { Alpha, Beta, Stable };

struct GateInfo {
  std::string_view name;
  GateStage stage;
  bool on_in_release;      // default of 1.37, and of single components
  bool on_in_up;           // default of `berth up` and `berth plan`
  bool locked;             // cannot be changed
  std::string_view needs;  // gates that must be on, comma separated
};

std::span<const GateInfo> gate_table();

enum class GateDefaults { Release, Up };
// Whether gates that 1.37 locked may be changed: only in tests of strategies with these gates off.
enum class GateLocks { Held, Ignored };

// The state of the gates. Immutable.
class Gates {
 public:
  explicit Gates(GateDefaults defaults);

  // `text`: "A=true,B=false". Refuses unknown gates (naming the nearest known one), values that are no
  // booleans, changes of locked gates and gates set to true whose needs are off. A gate that is only on by
  // default goes off with its needs.
  static Result<Gates> parse(GateDefaults defaults, std::string_view text, GateLocks locks = GateLocks::Held);

  // The name must be in the table.
  bool enabled(std::string_view name) const;

 private:
  Status set(std::string_view name, std::string_view value, GateLocks locks);
  std::string_view missing_need(std::size_t row) const;
  void drop_needy_defaults();
  Status check_needs() const;

  // By row of the table.
  std::vector<bool> on_;
  std::vector<bool> named_;
};

}  // namespace berth::api
