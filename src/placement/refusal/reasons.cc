#include "placement/refusal/reasons.h"

#include <initializer_list>

namespace berth::placement {

std::string with_subjects(std::string_view text, std::string_view first, std::string_view second,
                          std::string_view third) {
  std::string filled;
  for (const std::string_view subject : {first, second, third}) {
    const std::size_t at = text.find("{}");
    if (at == std::string_view::npos) break;
    filled.append(text.substr(0, at)).append(subject);
    text.remove_prefix(at + 2);
  }
  return filled.append(text);
}

}  // namespace berth::placement
