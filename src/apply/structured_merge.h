// Comparing, merging and pruning documents field by field, where each field may have an owner of its own.
//
// Documents have the form of their schema's version; a null member is a value, an absent one is not. Values
// that two documents share (Json::shares_with) are not visited. Cost: O(n log n) in the documents' members.
// Pure, any thread. Source: sigs.k8s.io/structured-merge-diff v6 (typed).
#pragma once

#include "apply/field_set.h"
#include "apply/schema.h"

namespace berth::apply {

// What turns `before` into `after`. A field that has come or gone is there with everything below it.
struct Comparison {
  FieldSet added, modified, removed;

  bool same() const { return added.empty() && modified.empty() && removed.empty(); }
  Comparison without_subtrees(const FieldSet& ignored) &&;
};
Comparison compare(const Schema& schema, const Json& before, const Json& after);

// `live` with every field of `config` set. Items keep the order of `config`, those of `live` alone their
// place among them.
Json merged(const Schema& schema, const Json& live, const Json& config);

// An error names this many lists, maps and structs of one owner.
inline constexpr std::size_t kSingleOwnersMax = 100;
// The same without owners, as mutating policies do it. Refuses (Invalid) a configuration that does not fit
// the schema. Refuses one that sets a list, a map or a struct which has one owner: the members that it leaves
// out would go.
Result<Json> merged_by_policy(const Schema& schema, const Json& live, const Json& config);

// Every field that the document gives a value to.
FieldSet fields_of(const Schema& schema, const Json& document);

// Without the fields of `unwanted`, and without what is below them. What loses all members becomes null.
Json without_fields(const Schema& schema, const Json& document, const FieldSet& unwanted);

// Adds the named fields on the way to each field of the set: owning `.spec.replicas` then means `.spec` too.
FieldSet with_named_parents(const Schema& schema, const FieldSet& set);

}  // namespace berth::apply
