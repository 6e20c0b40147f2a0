#include "server/write_errors.h"

namespace berth::server {
namespace {

// The reference storage's name of an object, which a few messages contain.
std::string registry_key(const ObjectTarget& target) {
  struct Renamed {
    std::string_view resource, stored_as;
  };
  static constexpr Renamed kRenamed[] = {{"nodes", "minions"},
                                         {"services", "services/specs"},
                                         {"endpoints", "services/endpoints"},
                                         {"ingresses", "ingress"},
                                         {"replicationcontrollers", "controllers"}};
  std::string_view resource = target.resource->plural;
  for (const Renamed& row : kRenamed)
    if (row.resource == resource) resource = row.stored_as;
  std::string key = "/registry/" + std::string(resource) + "/";
  if (!target.ns.empty()) key += target.ns + "/";
  return key + target.name;
}

}  // namespace

ApiResult<void> check_admission(const ObjectTarget& target, const std::optional<api::Rejection>& rejection) {
  if (!rejection) return {};
  ApiStatus status = forbidden(target.resource_name(), target.name, rejection->message);
  status.code = rejection->code;
  status.reason = rejection->reason;
  if (rejection->code != 403) status.message = rejection->message;
  return status;
}

ApiResult<void> check_fields(const ObjectTarget& target, const api::FieldErrors& errors) {
  if (errors.empty()) return {};
  return invalid(storage_of(*target.resource).group, target.resource->kind, target.name, errors);
}

ApiStatus store_error(const ObjectTarget& target, const Error& error) {
  switch (error.code()) {
    case ErrorCode::Exists:
      return already_exists(target.resource_name(), target.name);
    case ErrorCode::NotFound:
      return not_found(target.resource_name(), target.name);
    case ErrorCode::Conflict:
      return stale(target.resource_name(), target.name);
    case ErrorCode::Forbidden:
      return plain_error(error.message());
    case ErrorCode::Unavailable:
      return unavailable(error.text());
    default:
      return internal_error(error.text());
  }
}

ApiStatus other_name(std::string_view asked, std::string_view name_of_url) {
  return bad_request("the name of the object (" + std::string(asked) +
                     ") does not match the name on the URL (" + std::string(name_of_url) + ")");
}

ApiStatus no_name(std::string_view name_of_url) {
  return bad_request("the name of the object (" + std::string(name_of_url) +
                     " based on URL) was undeterminable: name must be provided");
}

ApiStatus not_corrupt(const ObjectTarget& target) {
  return conflict(target.resource_name(), target.name,
                  "StorageError: invalid object, Code: 4, Key: " + registry_key(target) +
                      ", ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because the "
                      "object is decodable from storage");
}

ApiStatus uid_conflict(const ObjectTarget& target, std::string_view asked, std::string_view found,
                       bool dry_run) {
  // The reference's store of a dry run knows keys without the prefix.
  constexpr std::string_view kPrefix = "/registry";
  std::string text = "StorageError: invalid object, Code: 4, Key: ";
  text += registry_key(target).substr(dry_run ? kPrefix.size() : 0);
  text.append(", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ");
  text.append(asked).append(", UID in object meta: ").append(found);
  return conflict(target.resource_name(), target.name, text);
}

}  // namespace berth::server
