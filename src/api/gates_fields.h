// Drops the members of a document whose feature gate is off, like the API server on a write.
//
// By the gate column of the type table; gates that gates.h does not list count as on. Pure. Cost: one walk of
// each document. Source: `+featureGate` markers of the API types; the rule "kept when the old object uses
// it".
#pragma once

#include "api/gates.h"
#include "api/type_table.h"
#include "base/json.h"

namespace berth::api {

// `document` is canonical. A gated member stays when `old` (null pointer: a create) uses the same feature,
// which means any member with the same gates, anywhere (empty lists and maps count as absent). A member that
// is always written becomes null.
void drop_gated_fields(const TypeInfo& type, Json& document, const Json* old, const Gates& gates);

}  // namespace berth::api
