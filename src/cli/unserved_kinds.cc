#include "cli/unserved_kinds.h"

#include "cli/complain.h"

namespace berth::cli {

void tell_unserved(const std::vector<UnservedKind>& unserved) {
  std::string counted;
  for (const UnservedKind& kind : unserved) {
    if (kind.defined) {
      counted += (counted.empty() ? "" : ", ") + std::to_string(kind.count) + " " + kind.kind;
      continue;
    }
    tell("warning: " + kind.first_place + ": no kind \"" + kind.kind + "\" is served in version \"" +
         kind.api_version + "\": left out" +
         (kind.count > 1 ? ", and " + std::to_string(kind.count - 1) + " more of this kind" : ""));
  }
  if (!counted.empty()) tell("custom resources left out: " + counted);
}

}  // namespace berth::cli
