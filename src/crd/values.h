// Whether a value fits its schema, in the words of kube-apiserver.
//
// Pure, any thread. Cost: linear in the value for each schema that describes it, within the budget;
// lists that must be unique n log n. Source: kube-openapi's validation and listtype of
// apiextensions-apiserver 1.37.
#pragma once

#include <string>

#include "api/field_error.h"
#include "base/json.h"
#include "crd/budget.h"
#include "crd/lazy_path.h"
#include "crd/schema.h"

namespace berth::crd {

// `path` is where the value is ("status"), empty for a whole object. What an update leaves as it was in
// `old` (null: a create) is not judged again; items of lists are the same ones by their keys only.
api::FieldErrors check_value(const Json& value, const Json* old, const Schema& schema, const LazyPath& path,
                             ObjectBudget& budget);

// Duplicates in lists of type set and map; names of items that are no objects.
api::FieldErrors check_lists(const Json& value, const Schema& schema, const LazyPath& path = LazyPath(""));

// Kind, apiVersion and metadata of embedded objects.
api::FieldErrors check_embedded(const Json& value, const Schema& schema, const LazyPath& path = LazyPath(""));

}  // namespace berth::crd
