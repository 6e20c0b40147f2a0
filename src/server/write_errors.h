// Why a write is refused, in the words that clients match.
//
// Pure, any thread. Source: k8s.io/apiserver registry/generic/registry and storage (message forms).
#pragma once

#include <optional>
#include <string_view>

#include "api/field_error.h"
#include "api/kind_rules.h"
#include "base/result.h"
#include "server/object_target.h"
#include "server/status.h"

namespace berth::server {

// Refuses what the kind's admission rejected.
ApiResult<void> check_admission(const ObjectTarget& target, const std::optional<api::Rejection>& rejection);
// 422 when there are errors.
ApiResult<void> check_fields(const ObjectTarget& target, const api::FieldErrors& errors);

// The Status of a write that the store refused.
ApiStatus store_error(const ObjectTarget& target, const Error& error);
// The document names another object than the URL.
ApiStatus no_name(std::string_view name_of_url);
ApiStatus other_name(std::string_view asked, std::string_view name_of_url);
// An unsafe deletion is for what cannot be read: every object of this store can.
ApiStatus not_corrupt(const ObjectTarget& target);
// The object has another uid than the client's.
ApiStatus uid_conflict(const ObjectTarget& target, std::string_view asked, std::string_view found,
                       bool dry_run = false);

}  // namespace berth::server
