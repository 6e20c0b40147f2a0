// The state of a write between its steps: registry_create.cc, registry_update.cc and registry_delete.cc
// continue where registry_admission.cc, which asks the webhooks, comes back.
//
// Owner: the callbacks of the write; one step at a time.
#pragma once

#include <string>
#include <vector>

#include "server/admission_webhooks.h"
#include "server/registry.h"

namespace berth::server {

struct Registry::Creation {
  ObjectTarget target;
  Json object;
  WriteOptions options;
  Done done;
  int tries_left = 1;
  bool is_name_generated = false;
  std::vector<std::string> warnings;
  std::shared_ptr<const ServiceAllocations::Hold> hold;  // of a Service
};

struct Registry::Update {
  ObjectTarget target;
  Change change;
  WriteOptions options;
  Done done;
  bool replaces = false;  // a PUT
  int tries_left = kUpdateTriesMax;
  // Of the latest try:
  std::vector<std::string> warnings;
  store::ObjectPtr current;
  Json before, next;
  std::shared_ptr<const ServiceAllocations::Hold> hold;  // of a Service

  // Refuses a document with another identity or version than the stored object.
  ApiResult<void> check_identity(const store::Object& stored, const Json& wanted) const;
};

struct Registry::Removal {
  ObjectTarget target;
  DeleteOptions options;
  WriteOptions write_options;
  Done done;
  int tries_left = kUpdateTriesMax;
  // Of the latest attempt:
  std::vector<std::string> warnings;
  std::string response_body;  // empty: the response is the object as written
  store::ObjectPtr current;
  Json before;
};

// Refuses a namespace in the body that is not the request's.
ApiResult<void> check_new_metadata(const ObjectTarget& target, const Json& metadata);

}  // namespace berth::server
