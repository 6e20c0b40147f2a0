// One line of the audit log: the user, the request and the response.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/store.h"

namespace berth::server {

struct AuditRecord {
  Time time;
  std::string user;
  std::string verb;  // get, list, watch, create, update, patch, delete, deletecollection
  std::string resource;
  std::string ns;
  std::string name;
  int code = 0;
  store::Revision revision = 0;
  std::string refused_by = {};                                        // the admission webhook
  std::vector<std::pair<std::string, std::string>> annotations = {};  // of admission
};

// Called once per resource request, from any thread.
using Audit = std::function<void(const AuditRecord&)>;

}  // namespace berth::server
