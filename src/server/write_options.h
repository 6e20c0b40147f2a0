// The options of a write request: CreateOptions, UpdateOptions, PatchOptions and DeleteOptions of meta/v1.
//
// Pure, any thread. Source: the validation of these options in Kubernetes 1.37.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/http.h"
#include "server/status.h"

namespace berth::server {

class AdmissionNotes;

struct WriteOptions {
  bool dry_run = false;
  User user;
  std::vector<std::string> empty_lists;  // of the body: api::Decoded::empty_lists
  std::string manager;                   // fieldManager, or what User-Agent begins with
  // A loop of this process writes: it is no user, and owns nothing of what it creates.
  bool in_process = false;
  bool is_apply = false;  // the change has set managedFields
  // Of the request, for admission webhooks. Null: the server writes by itself, and none sees it.
  std::shared_ptr<AdmissionNotes> notes = nullptr;
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_s;
  std::string uid;               // precondition
  std::string resource_version;  // precondition
  std::string propagation;       // Background, Foreground, Orphan or empty
  bool dry_run = false;
  bool unsafe = false;  // ignoreStoreReadErrorWithClusterBreakingPotential
};

enum class FieldValidation { Ignore, Warn, Strict };

// dryRun and fieldManager of the query. `options_kind` is CreateOptions, UpdateOptions or PatchOptions.
ApiResult<WriteOptions> write_options_of(const HttpRequest& request, std::string_view options_kind);
ApiResult<FieldValidation> field_validation_of(const HttpRequest& request, std::string_view options_kind);

// A document of DeleteOptions that has been checked.
DeleteOptions delete_options_of(const Json& body);
// From the body and the query, which has the same options for clients that send no body.
ApiResult<DeleteOptions> read_delete_options(const HttpRequest& request);

}  // namespace berth::server
