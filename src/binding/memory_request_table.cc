#include "binding/memory_request_table.h"

#include <algorithm>

#include "api/patch.h"
#include "binding/binder.h"
#include "client/api_path.h"

namespace berth::binding {
namespace {

using client::ApiReply;
using client::ApiRequest;
using client::NamedKey;
using client::Verb;

ApiReply conflict(std::string message) {
  return client::refused_reply(409, "Conflict", std::move(message));
}

api::RawPtr text_of(const Json& object) {
  std::string text = to_string(object);
  text.shrink_to_fit();  // it is kept
  return std::make_shared<const std::string>(std::move(text));
}

// Of a text of text_of().
Json document_of(const api::RawPtr& raw) {
  return parse_json(*raw).value_or(Json());
}

// Whether the status must be visible to others or survive this process. The end of a pod need not.
bool lasts(const api::BindRequest& request, bool has_record) {
  if (request.reason == kSuperseded) return false;
  return request.failed_attempts > 0 || request.phase == api::BindPhase::Failed ||
         request.step == api::BindStep::WaitingForVolumes ||
         request.step == api::BindStep::WaitingForDevices || request.step == api::BindStep::Binding ||
         (request.step == api::BindStep::WaitingForGang && !has_record) ||
         request.step == api::BindStep::RollingBack;
}

// The object without the fields that the API server sets.
Json without_memory(Json object) {
  JsonObject& metadata = object["metadata"].as_object();
  metadata.erase_if([](const JsonMember& member) {
    return member.key == "uid" || member.key == "resourceVersion" || member.key == "annotations";
  });
  object.as_object().erase("status");
  return object;
}

// A decision of an earlier term that is written in this one must not look like a late write.
void take_over(Json& object, const client::Leadership& term) {
  Json& spec = object["spec"];
  const bool same_lease = std::as_const(spec).part("lease").string_at("uid") == term.lease.uid;
  if (!same_lease || static_cast<std::uint64_t>(spec.int_at("epoch")) < term.epoch)
    api::set_term(spec, term.epoch, term.lease);
}

NamedKey key_of(const api::ObjectMeta& meta) {
  return {meta.ns, meta.name};
}

}  // namespace

std::size_t MemoryRequests::Table::size() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

void MemoryRequests::Table::lead(client::Leadership term) {
  const std::lock_guard lock(mutex_);
  term_ = std::move(term);
}

void MemoryRequests::Table::tell(client::ChangeKind kind, const api::RawPtr& raw, const Json& document) {
  for (client::WatchReceiver* receiver : receivers_) receiver->on_changes({{kind, raw, document}});
}

const MemoryRequests::Table::Kept& MemoryRequests::Table::store(const NamedKey& key, Json object,
                                                                client::ChangeKind kind) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  Kept& kept = kept_[key];
  if (kept.raw) bytes_ -= kept.raw->size();
  kept.raw = text_of(object);
  bytes_ += kept.raw->size();
  kept.uid = std::as_const(object).part("metadata").string_at("uid");
  kept.has_status = std::as_const(object).find("status") != nullptr;
  tell(kind, kept.raw, object);
  return kept;
}

const MemoryRequests::Table::Kept& MemoryRequests::Table::keep(const NamedKey& key, Json object,
                                                               const std::string& record) {
  Json& metadata = object["metadata"];
  metadata["namespace"] = key.ns;
  metadata["uid"] = "in-memory-" + std::to_string(++uids_);
  metadata["annotations"] = Json::object({{std::string(kInMemoryAnnotation), "true"}});
  kept_[key].record = record;
  if (!record.empty()) records_[{key.ns, record}].members.insert(key);
  return store(key, std::move(object), client::ChangeKind::Added);
}

void MemoryRequests::Table::drop(const NamedKey& key) {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  bytes_ -= found->second.raw->size();
  leave_record(key, found->second.record);
  kept_.erase(found);
}

// An object replaces the record. Its version may be lower, so receivers first see the record deleted: in one
// batch, as a pod without a request would be decided again.
void MemoryRequests::Table::displace(const NamedKey& key, const api::RawPtr& by, const Json& document) {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  const Kept last = found->second;
  drop(key);
  if (!last.record.empty()) records_[{key.ns, last.record}].replaced.insert(key);
  for (client::WatchReceiver* receiver : receivers_)
    receiver->on_changes(
        {{client::ChangeKind::Deleted, last.raw}, {client::ChangeKind::Added, by, document}});
}

void MemoryRequests::Table::forget(const NamedKey& key) {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  const Kept last = found->second;
  drop(key);
  tell(client::ChangeKind::Deleted, last.raw);
}

bool MemoryRequests::Table::has_room_for(const ApiRequest& create) const {
  return bytes_ + waiting_bytes_ + create.body.size() <= kMemoryRequestBytesMax;
}

bool MemoryRequests::Table::holds(const ApiRequest& request) const {
  if (request.verb != Verb::Create) return false;
  const std::lock_guard lock(mutex_);
  return !objects_.contains({request.ns, request.name}) && has_room_for(request);
}

// None if the API server must create an object, or if the answer `waits` for the record of a gang.
std::optional<ApiReply> MemoryRequests::Table::create(const ApiRequest& request, const NamedKey& key,
                                                      const Done& done, bool& waits) {
  if (request.verb != Verb::Create || objects_.contains(key) || !has_room_for(request)) return std::nullopt;
  Result<Json> object = parse_json(request.body);
  if (!object) return std::nullopt;
  const api::BindRequest decoded = api::decode_bind_request(*object, nullptr);
  if (decoded.group.size <= 1) return client::answered_reply(201, keep(key, *std::move(object), "").raw);
  waiting_bytes_ += request.body.size();
  forming_[key.ns].waiting.push_back({key, *std::move(object), request.body.size(), done});
  waits = true;
  return std::nullopt;
}

// None if the request must become an object with the status of `leaving`.
std::optional<ApiReply> MemoryRequests::Table::change(const ApiRequest& request, const NamedKey& key,
                                                      Kept& kept, Json& leaving) {
  const Result<Json> body = parse_json(request.body);
  if (!body) return client::refused_reply(400, "BadRequest", "the body is no JSON");
  const Json& wanted = body->part("metadata");
  const Json before = document_of(kept.raw);
  const Json& stands = before.part("metadata");
  const auto differs = [&](std::string_view field) {
    const std::string_view text = wanted.string_at(field);
    return !text.empty() && text != stands.string_at(field);
  };
  if (kept.leaving || differs("uid") || differs("resourceVersion"))
    return conflict("the bind request in memory has changed");
  Json after = request.verb == Verb::Update ? *body : api::merge_patched(before, *body);
  after["metadata"] = before.part("metadata");
  const std::string_view other_half = request.subresource == "status" ? "spec" : "status";
  if (const Json* half = before.find(other_half))
    after[other_half] = *half;
  else
    after.as_object().erase(other_half);
  if (!lasts(api::decode_bind_request(after, nullptr), !kept.record.empty()))
    return client::answered_reply(200, store(key, std::move(after), client::ChangeKind::Modified).raw);
  kept.leaving = true;
  leaving = std::move(after);
  take_over(leaving, term_);
  return std::nullopt;
}

// None if its gang's record must be deleted first.
std::optional<ApiReply> MemoryRequests::Table::erase(const ApiRequest& request, const NamedKey& key,
                                                     Kept& kept) {
  const Result<Json> options = parse_json(request.body);
  const std::string_view wanted =
      options ? options->part("preconditions").string_at("uid") : std::string_view();
  if (kept.leaving || (!wanted.empty() && wanted != kept.uid))
    return conflict("the bind request in memory is another one");
  const auto record = records_.find({key.ns, kept.record});
  if (record != records_.end() && record->second.members.size() == 1) return std::nullopt;
  const api::RawPtr last = kept.raw;
  forget(key);
  return client::answered_reply(200, last);
}

// Creates the object, then writes the status on its version. A failure of the create changes nothing; after
// a failure of the status the binder continues from an object with an empty status.
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
                     done = Done(done)](ApiReply reply) mutable {
    const Result<Json> created = parse_json(reply.object ? *reply.object : "{}");
    {
      const std::lock_guard lock(self->mutex_);
      if (reply.ok() && created) {
        self->objects_.insert(key);
        self->displace(key, reply.object, *created);
      } else if (const auto found = self->kept_.find(key); found != self->kept_.end()) {
        found->second.leaving = false;  // also if an object exists: the watch will show it
      }
    }
    self->write_to_records();
    if (reply.reason == "AlreadyExists")
      return done(conflict("the bind request in memory has become an object"));
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
  std::string record;
  Json leaving;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(key);
    if (found == kept_.end()) {
      bool waits = false;
      reply = create(request, key, done, waits);
      if (!reply && !waits) return false;
    } else if (request.verb == Verb::Create) {
      reply = client::refused_reply(409, "AlreadyExists", "a bind request of this name is in memory");
    } else if (request.verb == Verb::Get) {
      reply = client::answered_reply(200, found->second.raw);
    } else if (request.verb == Verb::Delete) {
      record = found->second.record;
      reply = erase(request, key, found->second);
    } else {
      reply = change(request, key, found->second, leaving);
    }
  }
  if (reply)
    done(*std::move(reply));
  else if (request.verb == Verb::Delete)
    delete_record_before(request, record, done);
  else if (request.verb != Verb::Create)
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

// Adds the kept requests, which no list of the API server contains.
void MemoryRequests::Table::pass_list(client::WatchReceiver& receiver, std::vector<api::RawPtr> objects,
                                      std::uint64_t version) {
  {
    const std::lock_guard lock(mutex_);
    if (!receivers_.contains(&receiver)) return;
    version_ = std::max(version_, version);
    std::vector<Json> gangs;
    objects_.clear();
    std::erase_if(objects, [&](const api::RawPtr& raw) {
      Result<Json> object = parse_json(*raw);
      if (!object) return false;
      const bool is_record = api::is_gang_record(*object);
      if (!is_record) appeared(key_of(api::decode_meta(*object)), raw, *object);
      if (is_record) gangs.push_back(*std::move(object));
      return is_record;
    });
    take_records(gangs, version);
    for (const auto& [name, record] : records_) look_for_lost_objects(name, record);
    for (const auto& [key, kept] : kept_) objects.push_back(kept.raw);
    receiver.on_list(std::move(objects), version);
  }
  write_to_records();
}

// An object replaces a kept request of its name.
void MemoryRequests::Table::appeared(const NamedKey& key, const api::RawPtr& object, const Json& document) {
  objects_.insert(key);
  displace(key, object, document);
}

void MemoryRequests::Table::pass_changes(client::WatchReceiver& receiver,
                                         std::vector<client::RawChange> changes) {
  {
    const std::lock_guard lock(mutex_);
    if (!receivers_.contains(&receiver)) return;
    std::vector<client::RawChange> passed;
    for (client::RawChange& change : changes) pass_change(std::move(change), passed);
    if (!passed.empty()) receiver.on_changes(std::move(passed));
  }
  write_to_records();
}

void MemoryRequests::Table::pass_change(client::RawChange change, std::vector<client::RawChange>& passed) {
  const Json object =
      change.document.is_null() ? parse_json(*change.object).value_or(Json()) : change.document;
  if (object.is_null()) return passed.push_back(std::move(change));
  const api::ObjectMeta meta = api::decode_meta(object);
  const NamedKey key = key_of(meta);
  version_ = std::max(version_, meta.resource_version);
  const bool deleted = change.kind == client::ChangeKind::Deleted;
  if (api::is_gang_record(object)) return deleted ? record_is_gone(key) : expand(object);
  passed.push_back(std::move(change));
  if (!deleted) return appeared(key, passed.back().object, object);
  objects_.erase(key);
  for (auto at = records_.lower_bound({key.ns, ""}); at != records_.end() && at->first.ns == key.ns; ++at)
    if (at->second.replaced.contains(key)) look_for_lost_objects(at->first, at->second);
  // The deletion of an earlier object must not hide a kept request.
  if (const auto found = kept_.find(key); found != kept_.end())
    passed.push_back({client::ChangeKind::Added, found->second.raw});
}

}  // namespace berth::binding
