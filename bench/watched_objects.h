// Objects of a benchmark, from text, as a watch brings them.
#pragma once

#include <memory>
#include <string>

#include "client/view.h"

namespace berth {

// What the view changed. `meta`: members of metadata, without braces; `rest`: further members of the object.
// `version` grows with every call.
inline client::Delta put_object(client::View& view, int& version, api::Kind kind, const std::string& meta,
                                const std::string& rest) {
  const std::string text =
      R"({"metadata":{)" + meta + R"(,"resourceVersion":")" + std::to_string(++version) + "\"}," + rest + "}";
  auto typed = api::decode_typed(kind, std::make_shared<const std::string>(text));
  const api::ObjectMeta& found = api::meta_of(*typed);
  return *view.put({kind, found.ns, found.name, {}}, *typed);
}

}  // namespace berth
