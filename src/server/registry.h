// The verbs of the API on stored objects: create, update, patch, delete, get; one implementation for every
// kind.
//
// What differs per kind stands in api/kind_rules.h. Thread-safe; every call may run on any pool thread.
// Answers of writes come on the store's committer thread and must only be handed over.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind_rules.h"
#include "api/kinds.h"
#include "api/type_table.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/random.h"
#include "server/recent_documents.h"
#include "server/status.h"
#include "store/store.h"

namespace berth::api {
class Gates;
}

namespace berth::server {

inline constexpr int kUpdateTriesMax = 8;        // lost races of one update without a resourceVersion
inline constexpr int kGenerateNameTriesMax = 8;  // taken names of one generateName

// One stored version, or why not. `object` bytes are in the storage version.
struct Answer {
  int code = 200;
  store::ObjectPtr object;          // null with `status` or `document`
  std::optional<ApiStatus> status;  // a failure
  std::string document;             // an answer that is no stored object (dry run, Status of a delete)
  std::vector<std::string> warnings;

  static Answer failed(ApiStatus status);
};
using Done = std::function<void(Answer)>;

struct WriteOptions {
  bool dry_run = false;
  std::string user;
  std::vector<std::string> empty_lists;  // of the body: api::Decoded::empty_lists
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_s;
  std::string uid;               // precondition
  std::string resource_version;  // precondition
  std::string propagation;       // Background, Foreground, Orphan or empty
  bool dry_run = false;
  int tries_left = kUpdateTriesMax;
};

// An object of a served resource. `subresource`: "", "status", "finalize", …
struct ObjectTarget {
  const api::ResourceInfo* resource = nullptr;
  std::string ns;
  std::string name;
  std::string subresource;

  ResourceName resource_name() const { return {resource->group, resource->plural}; }
};

class Registry {
 public:
  struct Dependencies {
    store::Store& store;
    Executor& executor;
    Clock& clock;
    Random& random;
    const api::Gates& gates;
  };
  Registry(Dependencies dependencies, std::size_t recent_documents_bytes)
      : dependencies_(dependencies), recent_(std::make_shared<RecentDocuments>(recent_documents_bytes)) {}

  // `body`: a canonical document of the storage version.
  void create(ObjectTarget target, Json body, WriteOptions options, Done done);
  // Replaces the object, or makes it where the kind allows that.
  void update(ObjectTarget target, Json body, WriteOptions options, Done done);
  // `change` turns the current document into the wanted one; called again when a writer came between.
  using Change = std::function<ApiResult<Json>(const Json& current)>;
  void modify(ObjectTarget target, Change change, WriteOptions options, Done done);
  void remove(ObjectTarget target, DeleteOptions options, WriteOptions write_options, Done done);
  // POST pods/NAME/binding.
  void bind(ObjectTarget target, const Json& binding, WriteOptions options, Done done);

  Answer get(const ObjectTarget& target) const;
  // The document of a stored version. Refuses bytes that are no JSON.
  Result<Json> document_of(const store::Object& object) const { return recent_->document_of(object); }

  store::Store& store() const { return dependencies_.store; }
  const Dependencies& dependencies() const { return dependencies_; }

 private:
  struct Update;  // one update with its retries
  // One delete on its way to the store.
  struct Removal {
    ObjectTarget target;
    DeleteOptions options;
    WriteOptions write_options;
    std::vector<std::string> warnings;
    std::string response_body;  // the answer; empty: the object as it is written
  };
  void attempt(std::shared_ptr<Update> update);
  static ApiStatus uid_conflict(const ObjectTarget& target, std::string_view asked, std::string_view found);
  void submit_update(std::shared_ptr<Update> update, const store::ObjectPtr& current, const Json& before,
                     Json next);
  void finish(std::shared_ptr<Update> update, store::Write write, Json written);
  void keep(const store::Object& object, Json written);
  void submit_removal(Removal removal, store::Write write, Done done);
  std::optional<ApiStatus> check_namespace(const ObjectTarget& target) const;
  api::RuleContext context(const ObjectTarget& target, const WriteOptions& options) const;
  void submit_create(ObjectTarget target, Json object, int tries_left, std::vector<std::string> warnings,
                     Done done);

  Dependencies dependencies_;
  std::shared_ptr<RecentDocuments> recent_;  // also of writes whose answers are on their way
};

// The storage identity of a resource: every served version of a kind shares one key space and one stored
// form.
const api::ResourceInfo& storage_of(const api::ResourceInfo& resource);
store::Key key_of(const ObjectTarget& target);
// "v1", "apps/v1".
std::string api_version_of(const api::ResourceInfo& resource);
// "pods", "resourceclaims.resource.k8s.io".
std::string storage_resource(const api::ResourceInfo& resource);

}  // namespace berth::server
