#include "binding/memory_requests.h"

#include <algorithm>
#include <charconv>

#include "api/patch.h"
#include "api/types/bind_request.h"
#include "binding/binder.h"
#include "binding/gang.h"

namespace berth::binding {
namespace {

using client::ApiReply;
using client::ApiRequest;
using client::Delivery;
using client::NamedKey;
using client::Verb;
using Done = std::function<void(ApiReply)>;

bool is_bind_requests(const api::ResourceRef& resource) {
  const api::ResourceRef own = api::ref_of(api::Kind::BindRequest);
  return resource.group == own.group && resource.resource == own.resource;
}

ApiReply refusal(int code, std::string reason, std::string message) {
  ApiReply reply;
  reply.code = code;
  reply.reason = std::move(reason);
  reply.message = std::move(message);
  return reply;
}

ApiReply answer_with(int code, const Json& object) {
  ApiReply reply;
  reply.code = code;
  reply.object = std::make_shared<const std::string>(to_string(object));
  return reply;
}

// Claims: a successor must know of an allocation or a binding that is still on its way, or it gives the
// device to another pod.
bool needs_object(const api::BindRequest& request) {
  return request.group.size > 1 || !request.claims.empty();
}

// What others are to see, and what is to survive this process. Not that the pod is gone.
bool lasts(const api::BindRequest& request) {
  if (request.phase == api::BindPhase::Succeeded || request.reason == kSuperseded) return false;
  return request.failed_attempts > 0 || request.phase == api::BindPhase::Failed ||
         request.step == api::BindStep::WaitingForDevices || request.step == api::BindStep::WaitingForGang ||
         request.step == api::BindStep::RollingBack;
}

// The object as a stranger would create it.
Json without_memory(Json object) {
  JsonObject& metadata = object["metadata"].as_object();
  metadata.erase_if([](const JsonMember& member) {
    return member.key == "uid" || member.key == "resourceVersion" || member.key == "annotations";
  });
  object.as_object().erase("status");
  return object;
}

std::uint64_t version_of(const Json& object) {
  const std::string_view text = object.part("metadata").string_at("resourceVersion");
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

}  // namespace

// What is kept, and who is told of it. Shared with answers that come late.
class MemoryRequests::Table {
 public:
  // True when the request was answered here.
  bool answer(const ApiRequest& request, const Done& done, client::ApiClient& inner,
              const std::shared_ptr<Table>& self);

  void subscribe(client::WatchReceiver& receiver);
  void unsubscribe(client::WatchReceiver& receiver);
  void pass_list(client::WatchReceiver& receiver, std::vector<api::RawPtr> objects, std::uint64_t version);
  void pass_changes(client::WatchReceiver& receiver, std::vector<client::RawChange> changes);
  std::size_t size() const;

 private:
  struct Kept {
    Json object;
    std::size_t bytes = 0;
    bool leaving = false;  // becomes an object now: other writes meet Conflict
  };

  bool create(const ApiRequest& request, const NamedKey& key, ApiReply& reply);
  ApiReply change(const ApiRequest& request, Kept& kept, std::optional<Json>& leaving);
  ApiReply erase(const ApiRequest& request, const NamedKey& key);
  void move_out(const NamedKey& key, Json object, const Done& done, client::ApiClient& inner,
                const std::shared_ptr<Table>& self);
  void stays(const NamedKey& key);
  void drop(const NamedKey& key);
  void store(const NamedKey& key, Json object, client::ChangeKind kind);
  void tell(client::ChangeKind kind, const Json& object);

  mutable std::mutex mutex_;  // also while receivers are called: they only hand over
  std::map<NamedKey, Kept> kept_;
  std::size_t bytes_ = 0;
  std::set<client::WatchReceiver*> receivers_;
  std::uint64_t uids_ = 0;
  std::uint64_t version_ = 0;  // the latest that was given out, or listed by the API server
};

std::size_t MemoryRequests::Table::size() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

void MemoryRequests::Table::tell(client::ChangeKind kind, const Json& object) {
  const auto raw = std::make_shared<const std::string>(to_string(object));
  for (client::WatchReceiver* receiver : receivers_) receiver->on_changes({{kind, raw}});
}

void MemoryRequests::Table::store(const NamedKey& key, Json object, client::ChangeKind kind) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  Kept& kept = kept_[key];
  bytes_ -= kept.bytes;
  kept.bytes = to_string(object).size();
  bytes_ += kept.bytes;
  kept.object = std::move(object);
  tell(kind, kept.object);
}

void MemoryRequests::Table::drop(const NamedKey& key) {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  bytes_ -= found->second.bytes;
  kept_.erase(found);
}

void MemoryRequests::Table::stays(const NamedKey& key) {
  const auto found = kept_.find(key);
  if (found != kept_.end()) found->second.leaving = false;
}

bool MemoryRequests::Table::create(const ApiRequest& request, const NamedKey& key, ApiReply& reply) {
  if (bytes_ + request.body.size() > kMemoryRequestBytesMax) return false;
  Result<Json> object = parse_json(request.body);
  if (!object || needs_object(api::decode_bind_request(*object, nullptr))) return false;
  Json& metadata = (*object)["metadata"];
  metadata["namespace"] = request.ns;
  metadata["uid"] = "in-memory-" + std::to_string(++uids_);
  metadata["annotations"] = Json::object({{kInMemoryAnnotation.data(), "true"}});
  store(key, *std::move(object), client::ChangeKind::Added);
  reply = answer_with(201, kept_[key].object);
  return true;
}

// `leaving` is set when the change is to be written to an object, which is made first.
ApiReply MemoryRequests::Table::change(const ApiRequest& request, Kept& kept, std::optional<Json>& leaving) {
  const Result<Json> body = parse_json(request.body);
  if (!body) return refusal(400, "BadRequest", "the body is no JSON");
  const Json& wanted = body->part("metadata");
  const Json& stands = std::as_const(kept.object).part("metadata");
  const auto differs = [&](std::string_view field) {
    const std::string_view text = wanted.string_at(field);
    return !text.empty() && text != stands.string_at(field);
  };
  if (kept.leaving || differs("uid") || differs("resourceVersion"))
    return refusal(409, "Conflict", "the bind request in memory has changed");
  const Json before = kept.object;
  Json after = request.verb == Verb::Update ? *body : api::merge_patched(before, *body);
  after["metadata"] = before.part("metadata");
  const std::string_view other_half = request.subresource == "status" ? "spec" : "status";
  if (const Json* half = before.find(other_half))
    after[other_half] = *half;
  else
    after.as_object().erase(other_half);
  const NamedKey key{request.ns, request.name};
  if (lasts(api::decode_bind_request(after, nullptr))) {
    kept.leaving = true;
    leaving = std::move(after);
    return {};
  }
  store(key, std::move(after), client::ChangeKind::Modified);
  return answer_with(200, kept_[key].object);
}

ApiReply MemoryRequests::Table::erase(const ApiRequest& request, const NamedKey& key) {
  Kept& kept = kept_[key];
  const std::string_view uid = std::as_const(kept.object).part("metadata").string_at("uid");
  const Result<Json> options = parse_json(request.body);
  const std::string_view wanted =
      options ? options->part("preconditions").string_at("uid") : std::string_view();
  if (kept.leaving || (!wanted.empty() && wanted != uid))
    return refusal(409, "Conflict", "the bind request in memory is another one");
  Json last = std::move(kept.object);
  last["metadata"]["resourceVersion"] = std::to_string(++version_);
  drop(key);
  tell(client::ChangeKind::Deleted, last);
  return answer_with(200, last);
}

// Create, then the status on its version. A failure before the object exists leaves everything as it was; one
// behind it meets an object with an empty status, from which the binder goes on.
void MemoryRequests::Table::move_out(const NamedKey& key, Json object, const Done& done,
                                     client::ApiClient& inner, const std::shared_ptr<Table>& self) {
  ApiRequest create;
  create.verb = Verb::Create;
  create.resource = api::ref_of(api::Kind::BindRequest);
  create.ns = key.ns;
  create.name = key.name;
  create.body = to_string(without_memory(object));
  auto status = std::make_shared<const Json>(object.part("status"));
  inner.submit(std::move(create), [key, status, done, &inner, self](ApiReply reply) {
    const bool exists = reply.ok() || reply.reason == "AlreadyExists";
    {
      const std::lock_guard lock(self->mutex_);
      if (exists)
        self->drop(key);
      else
        self->stays(key);
    }
    if (!reply.ok() && exists)
      return done(refusal(409, "Conflict", "the bind request in memory has become an object"));
    const Result<Json> created = reply.object ? parse_json(*reply.object) : Result<Json>(Json());
    if (!reply.ok() || !created) return done(std::move(reply));
    const Json& metadata = created->part("metadata");
    Json patch =
        Json::object({{"metadata", Json::object({{"uid", metadata.part("uid")},
                                                 {"resourceVersion", metadata.part("resourceVersion")}})},
                      {"status", *status}});
    ApiRequest write;
    write.verb = Verb::MergePatch;
    write.resource = api::ref_of(api::Kind::BindRequest);
    write.ns = key.ns;
    write.name = key.name;
    write.subresource = "status";
    write.body = to_string(patch);
    inner.submit(std::move(write), done);
  });
}

bool MemoryRequests::Table::answer(const ApiRequest& request, const Done& done, client::ApiClient& inner,
                                   const std::shared_ptr<Table>& self) {
  ApiReply reply;
  std::optional<Json> leaving;
  const NamedKey key{request.ns, request.name};
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(key);
    if (found == kept_.end()) {
      if (request.verb != Verb::Create || !create(request, key, reply)) return false;
    } else if (request.verb == Verb::Create) {
      reply = refusal(409, "AlreadyExists", "a bind request of this name is in memory");
    } else if (request.verb == Verb::Get) {
      reply = answer_with(200, found->second.object);
    } else if (request.verb == Verb::Delete) {
      reply = erase(request, key);
    } else {
      reply = change(request, found->second, leaving);
    }
  }
  if (leaving)
    move_out(key, *std::move(leaving), done, inner, self);
  else
    done(std::move(reply));
  return true;
}

void MemoryRequests::Table::subscribe(client::WatchReceiver& receiver) {
  const std::lock_guard lock(mutex_);
  receivers_.insert(&receiver);
}

void MemoryRequests::Table::unsubscribe(client::WatchReceiver& receiver) {
  const std::lock_guard lock(mutex_);
  receivers_.erase(&receiver);
}

// What is kept here is in no list of the API server, and is not gone.
void MemoryRequests::Table::pass_list(client::WatchReceiver& receiver, std::vector<api::RawPtr> objects,
                                      std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  if (!receivers_.contains(&receiver)) return;
  version_ = std::max(version_, version);
  for (const api::RawPtr& raw : objects)
    if (const Result<Json> object = parse_json(*raw); object)
      drop({std::string(object->part("metadata").string_at("namespace")),
            std::string(object->part("metadata").string_at("name"))});
  for (const auto& [key, kept] : kept_)
    objects.push_back(std::make_shared<const std::string>(to_string(kept.object)));
  receiver.on_list(std::move(objects), version);
}

void MemoryRequests::Table::pass_changes(client::WatchReceiver& receiver,
                                         std::vector<client::RawChange> changes) {
  const std::lock_guard lock(mutex_);
  if (!receivers_.contains(&receiver)) return;
  std::vector<client::RawChange> again;
  for (const client::RawChange& change : changes) {
    const Result<Json> object = parse_json(*change.object);
    if (!object) continue;
    version_ = std::max(version_, version_of(*object));
    const Json& metadata = object->part("metadata");
    const NamedKey key{std::string(metadata.string_at("namespace")), std::string(metadata.string_at("name"))};
    const auto found = kept_.find(key);
    if (found == kept_.end()) continue;
    // An object of this name takes its place; the end of an earlier one must not hide it.
    if (change.kind != client::ChangeKind::Deleted)
      drop(key);
    else
      again.push_back(
          {client::ChangeKind::Added, std::make_shared<const std::string>(to_string(found->second.object))});
  }
  for (client::RawChange& change : again) changes.push_back(std::move(change));
  receiver.on_changes(std::move(changes));
}

// Both the API server's watch and what is kept, to one receiver.
class MemoryRequests::Watch final : public client::Subscription, public client::WatchReceiver {
 public:
  Watch(std::shared_ptr<Table> table, client::WatchReceiver& receiver)
      : table_(std::move(table)), receiver_(receiver) {
    table_->subscribe(receiver_);
  }
  ~Watch() override {
    table_->unsubscribe(receiver_);
    inner_.reset();
  }
  void begin(client::ApiClient& inner, api::ResourceRef resource) {
    inner_ = inner.list_and_watch(std::move(resource), *this);
  }

  void on_list(std::vector<api::RawPtr> objects, std::uint64_t version) override {
    table_->pass_list(receiver_, std::move(objects), version);
  }
  void on_changes(std::vector<client::RawChange> changes) override {
    table_->pass_changes(receiver_, std::move(changes));
  }
  void on_not_served() override { receiver_.on_not_served(); }
  void on_trouble(std::string text) override { receiver_.on_trouble(std::move(text)); }

 private:
  const std::shared_ptr<Table> table_;
  client::WatchReceiver& receiver_;
  std::unique_ptr<client::Subscription> inner_;
};

MemoryRequests::MemoryRequests(client::ApiClient& inner) : inner_(inner), table_(std::make_shared<Table>()) {}
MemoryRequests::~MemoryRequests() = default;

void MemoryRequests::submit(ApiRequest request, Done done) {
  if (is_bind_requests(request.resource) && table_->answer(request, done, inner_, table_)) return;
  inner_.submit(std::move(request), std::move(done));
}

std::unique_ptr<client::Subscription> MemoryRequests::list_and_watch(api::ResourceRef resource,
                                                                     client::WatchReceiver& receiver) {
  if (!is_bind_requests(resource)) return inner_.list_and_watch(std::move(resource), receiver);
  auto watch = std::make_unique<Watch>(table_, receiver);
  watch->begin(inner_, std::move(resource));
  return watch;
}

std::size_t MemoryRequests::kept() const {
  return table_->size();
}

namespace {

class MemoryRequestCollector final : public client::Reconciler {
 public:
  std::string_view name() const override { return "memory-request-collector"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(api::Kind::BindRequest),
            {api::Kind::Pod,
             {},
             [](const client::View& view, const client::Delta& delta, std::vector<api::ObjectKey>& keys) {
               for (const api::BindRequest* request : view.bind_requests_of_pod(delta.key.ns, delta.key.name))
                 if (in_memory(*request))
                   keys.push_back(client::key_of(api::Kind::BindRequest, request->meta));
             }}};
  }

  client::Effects reconcile(const client::View& view, const api::ObjectKey& key, Time now) override {
    const api::BindRequest* request = view.bind_requests.find(key.ns, key.name);
    if (!request || !in_memory(*request) || !has_ended(*request) || waited_for(view, *request)) {
      ended_.erase(key);
      return client::Effects::nothing();
    }
    const Time due = ended_.try_emplace(key, now).first->second + kMemoryRequestGrace;
    if (now >= due) return client::Effects::write(key, client::delete_object(key, request->meta.uid));
    client::Effects effects;
    effects.wake_at = due;
    return effects;
  }

 private:
  static bool in_memory(const api::BindRequest& request) {
    return request.meta.annotations.contains(std::string(kInMemoryAnnotation));
  }
  // Without the request of a binding that went well the scheduler would place the pod again.
  static bool waited_for(const client::View& view, const api::BindRequest& request) {
    if (request.phase != api::BindPhase::Succeeded) return false;
    const api::Pod* pod = view.pods.find(request.meta.ns, request.pod_name);
    return pod && pod->meta.uid == request.pod_uid && !pod->bound();
  }

  std::map<api::ObjectKey, Time> ended_;  // since when, of those that are kept
};

}  // namespace

std::unique_ptr<client::Reconciler> make_memory_request_collector() {
  return std::make_unique<MemoryRequestCollector>();
}

}  // namespace berth::binding
