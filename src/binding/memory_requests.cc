#include "binding/memory_requests.h"

#include <algorithm>
#include <optional>

#include "api/patch.h"
#include "api/types/bind_request.h"
#include "binding/binder.h"
#include "client/api_path.h"

namespace berth::binding {
namespace {

using client::ApiReply;
using client::ApiRequest;
using client::NamedKey;
using client::Verb;
using Done = std::function<void(ApiReply)>;

bool is_bind_requests(const api::ResourceRef& resource) {
  const api::ResourceRef own = api::ref_of(api::Kind::BindRequest);
  return resource.group == own.group && resource.resource == own.resource;
}

ApiReply conflict(std::string message) {
  return client::refused_reply(409, "Conflict", std::move(message));
}

ApiReply answer_with(int code, const Json& object) {
  return client::answered_reply(code, to_string(object));
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

// Of an object that the API server sent; nothing for one that cannot be read.
std::optional<api::ObjectMeta> meta_of(const api::RawPtr& raw) {
  const Result<Json> object = parse_json(*raw);
  if (!object) return std::nullopt;
  return api::decode_meta(object->part("metadata"));
}

}  // namespace

// What is kept, and who is told of it. Shared with answers that come late.
class MemoryRequests::Table : public std::enable_shared_from_this<Table> {
 public:
  explicit Table(client::ApiClient& inner) : inner_(inner) {}

  // True when the request was answered here, or will be.
  bool answer(const ApiRequest& request, const Done& done);

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

  std::optional<ApiReply> create(const ApiRequest& request, const NamedKey& key);
  std::optional<ApiReply> change(const ApiRequest& request, const NamedKey& key, Kept& kept, Json& leaving);
  ApiReply erase(const ApiRequest& request, const NamedKey& key, Kept& kept);
  void move_out(const NamedKey& key, const Json& object, const Done& done);
  void stays(const NamedKey& key);
  void drop(const NamedKey& key);
  const Json& store(const NamedKey& key, Json object, client::ChangeKind kind);
  void tell(client::ChangeKind kind, const Json& object);

  client::ApiClient& inner_;
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

const Json& MemoryRequests::Table::store(const NamedKey& key, Json object, client::ChangeKind kind) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  Kept& kept = kept_[key];
  bytes_ -= kept.bytes;
  kept.bytes = to_string(object).size();
  bytes_ += kept.bytes;
  kept.object = std::move(object);
  tell(kind, kept.object);
  return kept.object;
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

// Nothing when the API server is to make an object.
std::optional<ApiReply> MemoryRequests::Table::create(const ApiRequest& request, const NamedKey& key) {
  if (request.verb != Verb::Create || bytes_ + request.body.size() > kMemoryRequestBytesMax)
    return std::nullopt;
  Result<Json> object = parse_json(request.body);
  if (!object || needs_object(api::decode_bind_request(*object, nullptr))) return std::nullopt;
  Json& metadata = (*object)["metadata"];
  metadata["namespace"] = request.ns;
  metadata["uid"] = "in-memory-" + std::to_string(++uids_);
  metadata["annotations"] = Json::object({{std::string(kInMemoryAnnotation), "true"}});
  return answer_with(201, store(key, *std::move(object), client::ChangeKind::Added));
}

// Nothing when `leaving` is to be written to an object, which is made first.
std::optional<ApiReply> MemoryRequests::Table::change(const ApiRequest& request, const NamedKey& key,
                                                      Kept& kept, Json& leaving) {
  const Result<Json> body = parse_json(request.body);
  if (!body) return client::refused_reply(400, "BadRequest", "the body is no JSON");
  const Json& wanted = body->part("metadata");
  const Json& stands = std::as_const(kept.object).part("metadata");
  const auto differs = [&](std::string_view field) {
    const std::string_view text = wanted.string_at(field);
    return !text.empty() && text != stands.string_at(field);
  };
  if (kept.leaving || differs("uid") || differs("resourceVersion"))
    return conflict("the bind request in memory has changed");
  const Json before = kept.object;
  Json after = request.verb == Verb::Update ? *body : api::merge_patched(before, *body);
  after["metadata"] = before.part("metadata");
  const std::string_view other_half = request.subresource == "status" ? "spec" : "status";
  if (const Json* half = before.find(other_half))
    after[other_half] = *half;
  else
    after.as_object().erase(other_half);
  if (!lasts(api::decode_bind_request(after, nullptr)))
    return answer_with(200, store(key, std::move(after), client::ChangeKind::Modified));
  kept.leaving = true;
  leaving = std::move(after);
  return std::nullopt;
}

ApiReply MemoryRequests::Table::erase(const ApiRequest& request, const NamedKey& key, Kept& kept) {
  const std::string_view uid = std::as_const(kept.object).part("metadata").string_at("uid");
  const Result<Json> options = parse_json(request.body);
  const std::string_view wanted =
      options ? options->part("preconditions").string_at("uid") : std::string_view();
  if (kept.leaving || (!wanted.empty() && wanted != uid))
    return conflict("the bind request in memory is another one");
  Json last = std::move(kept.object);
  last["metadata"]["resourceVersion"] = std::to_string(++version_);
  drop(key);
  tell(client::ChangeKind::Deleted, last);
  return answer_with(200, last);
}

// Create, then the status on its version. A failure before the object exists leaves everything as it was; one
// behind it meets an object with an empty status, from which the binder goes on.
void MemoryRequests::Table::move_out(const NamedKey& key, const Json& object, const Done& done) {
  const api::ResourceRef resource = api::ref_of(api::Kind::BindRequest);
  ApiRequest create{.verb = Verb::Create, .resource = resource, .ns = key.ns, .name = key.name};
  create.body = to_string(without_memory(object));
  ApiRequest write{.verb = Verb::MergePatch,
                   .resource = resource,
                   .ns = key.ns,
                   .name = key.name,
                   .subresource = "status"};
  const auto made = [self = shared_from_this(), key, write, status = object.part("status"),
                     done](ApiReply reply) mutable {
    const bool exists = reply.ok() || reply.reason == "AlreadyExists";
    {
      const std::lock_guard lock(self->mutex_);
      if (exists)
        self->drop(key);
      else
        self->stays(key);
    }
    if (!reply.ok() && exists) return done(conflict("the bind request in memory has become an object"));
    const Result<Json> created = reply.object ? parse_json(*reply.object) : Result<Json>(Json());
    if (!reply.ok() || !created) return done(std::move(reply));
    Json base = Json::object();
    for (const std::string_view field : {"uid", "resourceVersion"})
      base[field] = created->part("metadata").part(field);
    write.body = to_string(Json::object({{"metadata", std::move(base)}, {"status", std::move(status)}}));
    self->inner_.submit(std::move(write), std::move(done));
  };
  inner_.submit(std::move(create), made);
}

bool MemoryRequests::Table::answer(const ApiRequest& request, const Done& done) {
  const NamedKey key{request.ns, request.name};
  std::optional<ApiReply> reply;
  Json leaving;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(key);
    if (found == kept_.end()) {
      reply = create(request, key);
      if (!reply) return false;
    } else if (request.verb == Verb::Create) {
      reply = client::refused_reply(409, "AlreadyExists", "a bind request of this name is in memory");
    } else if (request.verb == Verb::Get) {
      reply = answer_with(200, found->second.object);
    } else if (request.verb == Verb::Delete) {
      reply = erase(request, key, found->second);
    } else {
      reply = change(request, key, found->second, leaving);
    }
  }
  if (reply)
    done(*std::move(reply));
  else
    move_out(key, leaving, done);
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
    if (const auto meta = meta_of(raw)) drop({meta->ns, meta->name});
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
    const auto meta = meta_of(change.object);
    if (!meta) continue;
    version_ = std::max(version_, meta->resource_version);
    const auto found = kept_.find({meta->ns, meta->name});
    if (found == kept_.end()) continue;
    // An object of this name takes its place; the end of an earlier one must not hide it.
    if (change.kind != client::ChangeKind::Deleted)
      drop(found->first);
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

MemoryRequests::MemoryRequests(client::ApiClient& inner)
    : inner_(inner), table_(std::make_shared<Table>(inner)) {}
MemoryRequests::~MemoryRequests() = default;

void MemoryRequests::submit(ApiRequest request, Done done) {
  if (is_bind_requests(request.resource) && table_->answer(request, done)) return;
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

}  // namespace berth::binding
