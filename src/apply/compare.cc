#include <span>

#include "apply/list_items.h"
#include "apply/structured_merge.h"

namespace berth::apply {
namespace {

using Items = std::span<const ListItem>;  // of one element

bool is_empty(const Json* value) {
  if (!value || value->is_null()) return true;
  return (value->is_array() && value->as_array().empty()) ||
         (value->is_object() && value->as_object().empty());
}

// Takes the items of the first element away from `items`.
Items take_element(Items& items) {
  const auto count = static_cast<std::size_t>(end_of_element(items.begin(), items.end()) - items.begin());
  const Items taken = items.first(count);
  items = items.subspan(count);
  return taken;
}

// The three sets below one value, filled element by element.
class Walk {
 public:
  // `before` or `after` is null where the value is absent, not both.
  void visit(const Schema& schema, const PathElement& element, const Json* before, const Json* after);
  void visit_below(const Schema& schema, const Json* before, const Json* after);
  Comparison result();

 private:
  enum class Mark { None, Added, Modified, Removed };
  static Mark mark_of(bool is_leaf, const Json* before, const Json* after);

  void put(const PathElement& element, Mark mark, Comparison below);
  void visit_members(const Schema& schema, const Json* before, const Json* after);
  void visit_items(const Schema& schema, const Json* before, const Json* after);
  void visit_item(const Schema& schema, const PathElement& element, Items before, Items after);

  Comparison made_;
};

Walk::Mark Walk::mark_of(bool is_leaf, const Json* before, const Json* after) {
  if (!before) return Mark::Added;
  if (!after) return Mark::Removed;
  return is_leaf && !(*before == *after) ? Mark::Modified : Mark::None;
}

void Walk::put(const PathElement& element, Mark mark, Comparison below) {
  const auto put_into = [&](FieldSet& set, Mark own, FieldSet& set_below) {
    if (mark == own || !set_below.empty()) set.append(element, mark == own, std::move(set_below));
  };
  put_into(made_.added, Mark::Added, below.added);
  put_into(made_.modified, Mark::Modified, below.modified);
  put_into(made_.removed, Mark::Removed, below.removed);
}

void Walk::visit(const Schema& schema, const PathElement& element, const Json* before, const Json* after) {
  if (before && after && before->shares_with(*after)) return;
  // Two empty values are a leaf: an empty list and none differ.
  const bool is_leaf = schema.form() == Form::Leaf || (is_empty(before) && is_empty(after));
  Comparison below;
  if (!is_leaf) {
    Walk walk;
    walk.visit_below(schema, before, after);
    below = walk.result();
  }
  put(element, mark_of(is_leaf, before, after), std::move(below));
}

void Walk::visit_below(const Schema& schema, const Json* before, const Json* after) {
  const Form form = schema.form();
  if (form == Form::Struct || form == Form::Map) return visit_members(schema, before, after);
  if (form == Form::Set || form == Form::Items) visit_items(schema, before, after);
}

void Walk::visit_members(const Schema& schema, const Json* before, const Json* after) {
  const auto visit_member = [&](const JsonMember& member, const Json* left, const Json* right) {
    if (const std::optional<Schema> below = schema.member(member.key))
      visit(*below, PathElement::field(member.key), left, right);
  };
  if (before && before->is_object())
    for (const JsonMember& member : before->as_object())
      visit_member(member, &member.value, after ? after->find(member.key) : nullptr);
  if (!after || !after->is_object()) return;
  for (const JsonMember& member : after->as_object())
    if (!before || !before->find(member.key)) visit_member(member, nullptr, &member.value);
}

void Walk::visit_items(const Schema& schema, const Json* before, const Json* after) {
  const std::vector<ListItem> all_before = items_by_element(schema, before);
  const std::vector<ListItem> all_after = items_by_element(schema, after);
  Items left = all_before, right = all_after;
  while (!left.empty() || !right.empty()) {
    const auto order = left.empty()    ? std::strong_ordering::greater
                       : right.empty() ? std::strong_ordering::less
                                       : left.front().element <=> right.front().element;
    const Items items_before = order <= 0 ? take_element(left) : Items();
    const Items items_after = order >= 0 ? take_element(right) : Items();
    const PathElement& element = (order <= 0 ? items_before : items_after).front().element;
    visit_item(schema, element, items_before, items_after);
  }
}

// Items that repeat a key are one leaf together.
void Walk::visit_item(const Schema& schema, const PathElement& element, Items before, Items after) {
  const bool repeats_before = before.size() > 1, repeats_after = after.size() > 1;
  if (!repeats_before && !repeats_after)
    return visit(schema.item(), element, before.empty() ? nullptr : before.front().value,
                 after.empty() ? nullptr : after.front().value);
  if (repeats_before && repeats_after) {
    const bool same = std::equal(before.begin(), before.end(), after.begin(), after.end(),
                                 [](const ListItem& a, const ListItem& b) { return *a.value == *b.value; });
    return put(element, same ? Mark::None : Mark::Modified, {});
  }
  const Items single = repeats_before ? after : before;
  Walk below;
  Mark mark = Mark::None;
  if (!single.empty()) {
    const Json* left = repeats_before ? nullptr : single.front().value;
    const Json* right = repeats_before ? single.front().value : nullptr;
    mark = mark_of(true, left, right);
    below.visit_below(schema.item(), left, right);
  }
  put(element, mark, below.result());
  put(element, repeats_before ? Mark::Removed : Mark::Added, {});
}

Comparison Walk::result() {
  for (FieldSet* set : {&made_.added, &made_.modified, &made_.removed}) set->sort();
  return std::move(made_);
}

}  // namespace

Comparison Comparison::without_subtrees(const FieldSet& ignored) && {
  return {std::move(added).without_subtrees(ignored), std::move(modified).without_subtrees(ignored),
          std::move(removed).without_subtrees(ignored)};
}

Comparison compare(const Schema& schema, const Json& before, const Json& after) {
  if (before.shares_with(after)) return {};
  Walk walk;
  walk.visit_below(schema, &before, &after);
  return walk.result();
}

}  // namespace berth::apply
