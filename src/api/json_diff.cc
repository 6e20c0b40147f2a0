#include "api/json_diff.h"

#include "base/json_pointer.h"

namespace berth::api {
namespace {

class Diff {
 public:
  void compare(const std::string& path, const Json& before, const Json& after) {
    if (before.shares_with(after)) return;
    if (before.is_object() && after.is_object()) return compare_members(path, before, after);
    if (before.is_array() && after.is_array() && before.as_array().size() <= after.as_array().size())
      return compare_elements(path, before.as_array(), after.as_array());
    if (!(before == after)) add("replace", path, after);
  }
  JsonArray take() { return std::move(operations_); }

 private:
  void add(std::string_view operation, const std::string& path, const Json& value) {
    operations_.push_back(Json::object({{"op", operation}, {"path", path}, {"value", value}}));
  }

  void compare_members(const std::string& path, const Json& before, const Json& after) {
    for (const JsonMember& member : before.as_object())
      if (!after.find(member.key))
        operations_.push_back(
            Json::object({{"op", "remove"}, {"path", path + "/" + escaped_pointer_part(member.key)}}));
    for (const JsonMember& member : after.as_object()) {
      const std::string at = path + "/" + escaped_pointer_part(member.key);
      if (const Json* old = before.find(member.key))
        compare(at, *old, member.value);
      else
        add("add", at, member.value);
    }
  }

  void compare_elements(const std::string& path, const JsonArray& before, const JsonArray& after) {
    for (std::size_t i = 0; i < before.size(); ++i)
      compare(path + "/" + std::to_string(i), before[i], after[i]);
    for (std::size_t i = before.size(); i < after.size(); ++i) add("add", path + "/-", after[i]);
  }

  JsonArray operations_;
};

}  // namespace

JsonArray json_patch_between(const Json& before, const Json& after) {
  Diff diff;
  diff.compare("", before, after);
  return diff.take();
}

}  // namespace berth::api
