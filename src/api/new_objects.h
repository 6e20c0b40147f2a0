// What an API server makes of a new object, and what it refuses of it, by the rules of its kind alone. The
// server does it with each request, `berth plan` with each object of a file. Pure, any thread.
#pragma once

#include "api/kind_rules.h"
#include "api/type_table.h"

namespace berth::api {

// A canonical document of `resource`'s version in the form that a server stores: that version, with defaults.
Json to_stored_form(const ResourceInfo& resource, const KindRules& rules, Json document);

// Everything that is wrong with a stored form that is to be created: its metadata, then its kind's own
// fields.
FieldErrors validate_new(const Json& object, bool namespaced, const KindRules& rules, const RuleContext& ctx);

}  // namespace berth::api
