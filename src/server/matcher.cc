#include "server/list_watch.h"

namespace berth::server {

std::variant<Matcher, ApiStatus> make_matcher(const api::ResourceInfo&, const std::string& label_selector,
                                              const std::string& field_selector, const std::string& name) {
  if (!label_selector.empty() || !field_selector.empty()) return bad_request("selectors are not served yet");
  if (name.empty()) return Matcher();
  return Matcher([name](const store::Object& object) { return object.key.name == name; });
}

}  // namespace berth::server
