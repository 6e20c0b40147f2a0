// Sets of fields of a document: what a manager owns, what a write changed.
//
// A field is a path of elements from the root: `.spec.containers[name="c"].image`. A set may hold a path and
// paths below it; it holds no node that leads nowhere. The algebra costs time linear in both sets. Removing
// from a set that the caller gives away costs O(n + m log n); a union with an empty set costs nothing.
// Values, any thread. Source: FieldsV1 of meta/v1 and sigs.k8s.io/structured-merge-diff, whose order and
// texts these are.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace berth::apply {

struct PathElement {
  // In the order of a set. Index occurs only in sets that clients sent: lists without keys have one owner.
  enum class Type : std::uint8_t { Field, Key, Value, Index };

  Type type = Type::Field;
  std::string name;  // Field
  Json value;        // Key: the keys by name; Value: the item of a set; Index: a number

  static PathElement field(std::string_view name) { return {Type::Field, std::string(name), {}}; }

  // "f:spec", `k:{"name":"c"}`, `v:"x"`, "i:3".
  std::string serialized() const;
  // Refuses (Invalid) an unknown type and what is no JSON behind it.
  static Result<PathElement> parsed(std::string_view text);
  // ".spec", `[name="c"]`, `[="x"]`, "[3]".
  std::string text() const;

  std::strong_ordering operator<=>(const PathElement& other) const;
  // Never falls in this order: differing ones decide it without a look at the texts.
  std::uint64_t order_prefix() const;
  bool operator==(const PathElement& other) const { return (*this <=> other) == 0; }
};

using FieldPath = std::vector<PathElement>;
std::string text_of(const FieldPath& path);

// Orders rows with an `element` by it; rows of equal elements keep their order. Linear for rows in order.
template <class Row>
void sort_by_element(std::vector<Row>& rows) {
  const auto is_before = [](const Row& a, const Row& b) { return a.element < b.element; };
  if (std::is_sorted(rows.begin(), rows.end(), is_before)) return;
  std::vector<std::pair<std::uint64_t, std::size_t>> places;
  places.reserve(rows.size());
  for (const Row& row : rows) places.emplace_back(row.element.order_prefix(), places.size());
  std::sort(places.begin(), places.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    const auto order = rows[a.second].element <=> rows[b.second].element;
    return order != 0 ? order < 0 : a.second < b.second;
  });
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (const auto& place : places) sorted.push_back(std::move(rows[place.second]));
  rows = std::move(sorted);
}

class FieldSet {
 public:
  struct Node;

  FieldSet() = default;

  bool empty() const { return nodes_.empty(); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node* find(const PathElement& element) const;
  bool has(std::span<const PathElement> path) const;
  void insert(std::span<const PathElement> path);

  // Building: nodes in any order, each element once, then sort(). A node without member and children is left
  // out.
  void append(PathElement element, bool member, FieldSet children);
  void sort();

  FieldSet united(FieldSet other) const&;
  FieldSet united(FieldSet other) &&;
  FieldSet intersected(const FieldSet& other) const;
  // Without the paths of `other`; what is below them stays.
  FieldSet without(const FieldSet& other) const&;
  FieldSet without(const FieldSet& other) &&;
  // Without the paths of `other` and everything below them.
  FieldSet without_subtrees(const FieldSet& other) const&;
  FieldSet without_subtrees(const FieldSet& other) &&;

  // Every path, a node's members before what is below them.
  void for_each(const std::function<void(const FieldPath& path)>& visit) const;

  // FieldsV1: {"f:spec":{".":{},"f:replicas":{}}}.
  Json to_json() const { return to_json(false); }
  // Refuses (Invalid) a value that is no FieldsV1.
  static Result<FieldSet> from_json(const Json& fields);

  friend bool operator==(const FieldSet& a, const FieldSet& b);

 private:
  void for_each_below(FieldPath& prefix, const std::function<void(const FieldPath& path)>& visit) const;
  std::vector<Node>::iterator place_of(const PathElement& element);
  void drop_empty();
  Json to_json(bool with_itself) const;

  std::vector<Node> nodes_;  // by element
};

struct FieldSet::Node {
  PathElement element;
  bool member = false;  // the path that ends here is in the set
  FieldSet children;

  bool operator==(const Node&) const = default;
};

}  // namespace berth::apply
