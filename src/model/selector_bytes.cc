#include "model/selector_bytes.h"

#include "base/key_bytes.h"

namespace berth::model {

void append_selector(std::string& key, const api::LabelSelector& selector) {
  append_key(key, selector.selects_nothing() ? 1u : 0u);
  append_key(key, selector.requirements().size());
  for (const api::LabelRequirement& one : selector.requirements()) {
    append_key(key, one.key);
    append_key(key, static_cast<std::uint64_t>(one.op));
    append_key(key, one.values.size());
    for (const std::string& value : one.values) append_key(key, value);
  }
}

}  // namespace berth::model
