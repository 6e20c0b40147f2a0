#include "binding/memory_request_table.h"

#include <algorithm>

#include "api/types/gang_record.h"
#include "binding/binder.h"
#include "binding/request_bytes.h"
#include "binding/request_status.h"
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

ApiReply not_found() {
  return client::refused_reply(404, "NotFound", "the bind request is gone");
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

// The kept request with the half that the write names. A status of an earlier decision reads as empty.
api::BindRequest changed(const api::BindRequest& kept, const ApiRequest& request) {
  const api::BindRequest& wanted = *request.in_memory->wanted;
  const bool status = request.subresource == "status";
  api::BindRequest after = status ? kept : wanted;
  after.meta = kept.meta;
  after.in_memory = true;
  api::BindStatus& half = after;
  half = status ? wanted : kept;
  if (status) {
    half.status_is_stale = false;
    half.status_names_decision = !after.decision_id.empty();
  } else if (half.status_names_decision && after.decision_id != kept.decision_id) {
    half = {};
    half.status_is_stale = true;
  }
  return after;
}

// A decision of an earlier term that is written in this one must not look like a late write.
void take_over(api::BindRequest& request, const client::Leadership& term) {
  if (term.epoch == 0 || (request.lease.uid == term.lease.uid && request.epoch >= term.epoch)) return;
  request.epoch = term.epoch;
  if (!term.lease.empty()) request.lease = term.lease;
}

// The UID that a delete names; empty: any.
std::string named_uid(const ApiRequest& request) {
  if (request.in_memory) return request.in_memory->uid;
  const Result<Json> options = parse_json(request.body);
  return options ? std::string(options->part("preconditions").string_at("uid")) : "";
}

NamedKey key_of(const api::ObjectMeta& meta) {
  return {meta.ns, meta.name};
}

}  // namespace

ApiReply kept_reply(int code, api::BindRequestPtr request) {
  ApiReply reply;
  reply.code = code;
  reply.kept = std::move(request);
  return reply;
}

ApiRequest object_create(const api::BindRequest& request) {
  ApiRequest create{.verb = Verb::Create,
                    .resource = api::ref_of(api::Kind::BindRequest),
                    .ns = request.meta.ns,
                    .name = request.meta.name};
  create.body = to_string(api::bind_request_object(request));
  return create;
}

std::size_t MemoryRequests::Table::size() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

void MemoryRequests::Table::lead(client::Leadership term) {
  const std::lock_guard lock(mutex_);
  term_ = std::move(term);
}

const MemoryRequests::Table::Kept& MemoryRequests::Table::store(const NamedKey& key, api::BindRequest request,
                                                                client::ChangeKind kind) {
  request.meta.resource_version = ++version_;
  Kept& kept = kept_[key];
  bytes_ -= kept.bytes;
  kept.bytes = bytes_of(request);
  bytes_ += kept.bytes;
  kept.request = std::make_shared<const api::BindRequest>(std::move(request));
  log_.append({{kind, nullptr, {}, kept.request}});
  return kept;
}

const MemoryRequests::Table::Kept& MemoryRequests::Table::keep(const NamedKey& key, api::BindRequest request,
                                                               const std::string& record) {
  request.meta.uid = "in-memory-" + std::to_string(++uids_);
  request.meta.owners = {api::owner_of(request)};
  request.in_memory = true;
  kept_[key].record = record;
  if (!record.empty()) records_[{key.ns, record}].members.insert(key);
  return store(key, std::move(request), client::ChangeKind::Added);
}

void MemoryRequests::Table::drop(const NamedKey& key) {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  bytes_ -= found->second.bytes;
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
  log_.append(
      {{client::ChangeKind::Deleted, nullptr, {}, last.request}, {client::ChangeKind::Added, by, document}});
}

void MemoryRequests::Table::forget(const NamedKey& key) {
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  const api::BindRequestPtr last = found->second.request;
  drop(key);
  log_.append({{client::ChangeKind::Deleted, nullptr, {}, last}});
}

bool MemoryRequests::Table::has_room_for(const ApiRequest& create) const {
  return !objects_.contains({create.ns, create.name}) &&
         bytes_ + waiting_bytes_ + bytes_of(*create.in_memory->wanted) <= kMemoryRequestBytesMax;
}

bool MemoryRequests::Table::holds(const ApiRequest& request) const {
  if (request.verb != Verb::Create || !request.in_memory) return false;
  const std::lock_guard lock(mutex_);
  return has_room_for(request);
}

// None if the answer waits for the record of a gang.
std::optional<ApiReply> MemoryRequests::Table::create(const ApiRequest& request, const NamedKey& key,
                                                      const Done& done) {
  const api::BindRequestPtr& wanted = request.in_memory->wanted;
  if (wanted->group.size <= 1) return kept_reply(201, keep(key, *wanted, "").request);
  const std::size_t bytes = bytes_of(*wanted);
  waiting_bytes_ += bytes;
  forming_[key.ns].waiting.push_back({key, wanted, bytes, done});
  return std::nullopt;
}

// None if the request must become an object with the status of `leaving`. A write with a text is about an
// object: this is another one.
std::optional<ApiReply> MemoryRequests::Table::change(const ApiRequest& request, const NamedKey& key,
                                                      Kept& kept, api::BindRequestPtr& leaving) {
  const api::ObjectMeta& meta = kept.request->meta;
  const auto& write = request.in_memory;
  if (kept.leaving || !write || write->uid != meta.uid || write->version != meta.resource_version)
    return conflict("the bind request in memory has changed");
  api::BindRequest after = changed(*kept.request, request);
  if (!lasts(after, !kept.record.empty())) {
    kept.has_status |= request.subresource == "status";
    return kept_reply(200, store(key, std::move(after), client::ChangeKind::Modified).request);
  }
  kept.leaving = true;
  take_over(after, term_);
  leaving = std::make_shared<const api::BindRequest>(std::move(after));
  return std::nullopt;
}

// None if its gang's record must be deleted first.
std::optional<ApiReply> MemoryRequests::Table::erase(const ApiRequest& request, const NamedKey& key,
                                                     const Kept& kept) {
  const std::string uid = named_uid(request);
  if (kept.leaving || (!uid.empty() && uid != kept.request->meta.uid))
    return conflict("the bind request in memory is another one");
  const auto record = records_.find({key.ns, kept.record});
  if (record != records_.end() && record->second.members.size() == 1) return std::nullopt;
  const api::BindRequestPtr last = kept.request;
  forget(key);
  return kept_reply(200, last);
}

// Creates the object, then writes the status on its version. A failure of the create changes nothing; after
// a failure of the status the binder continues from an object with an empty status.
void MemoryRequests::Table::move_out(const NamedKey& key, const api::BindRequestPtr& leaving,
                                     const Done& done) {
  inner_.submit(object_create(*leaving), [self = shared_from_this(), key, leaving, done](ApiReply reply) {
    const Result<Json> created = parse_json(reply.object ? *reply.object : "{}");
    {
      const std::lock_guard lock(self->mutex_);
      if (reply.ok() && created) {
        self->objects_.insert(key);
        self->displace(key, reply.object, *created);
      } else if (const auto found = self->kept_.find(key); found != self->kept_.end()) {
        found->second.leaving = false;  // also if an object exists: the watch will show it
      }
      self->log_.deliver();
    }
    self->write_to_records();
    if (reply.reason == "AlreadyExists")
      return done(conflict("the bind request in memory has become an object"));
    if (!reply.ok() || !created) return done(std::move(reply));
    std::optional<client::Write> write =
        status_write(api::decode_bind_request(*created, nullptr), *leaving, IfChanged::Refuse);
    if (!write) return done(std::move(reply));
    self->inner_.submit(std::move(write->request), done);
  });
}

// Of a value that is not kept: it was seen here, and has become an object since or is gone.
ApiReply MemoryRequests::Table::answer_for_absent(const NamedKey& key) const {
  return objects_.contains(key) ? conflict("the bind request in memory has become an object") : not_found();
}

bool MemoryRequests::Table::answer(const ApiRequest& request, const Done& done) {
  const NamedKey key{request.ns, request.name};
  const bool creates = request.verb == Verb::Create, deletes = request.verb == Verb::Delete;
  std::optional<ApiReply> reply;
  std::string record;
  api::BindRequestPtr leaving;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(key);
    if (found == kept_.end()) {
      if (!request.in_memory || (creates && !has_room_for(request))) return false;
      reply = creates ? create(request, key, done) : answer_for_absent(key);
    } else if (creates) {
      reply = client::refused_reply(409, "AlreadyExists", "a bind request of this name is in memory");
    } else if (request.verb == Verb::Get) {
      reply = kept_reply(200, found->second.request);
    } else if (deletes) {
      record = found->second.record;
      reply = erase(request, key, found->second);
    } else {
      reply = change(request, key, found->second, leaving);
    }
  }
  if (reply)
    done(*std::move(reply));
  else if (deletes)
    delete_record_before(request, record, done);
  else if (leaving)
    move_out(key, leaving, done);
  return true;
}

void MemoryRequests::Table::deliver() {
  const std::lock_guard lock(mutex_);
  log_.deliver();
}

std::optional<Time> MemoryRequests::Table::flush(Time now) {
  deliver();
  return write_records(now);
}

void MemoryRequests::Table::subscribe(client::WatchReceiver& receiver) {
  const std::lock_guard lock(mutex_);
  log_.follow(receiver);
}

void MemoryRequests::Table::unsubscribe(client::WatchReceiver& receiver) {
  const std::lock_guard lock(mutex_);
  log_.leave(receiver);
}

// Adds the kept requests, which no list of the API server contains.
void MemoryRequests::Table::pass_list(client::WatchReceiver& receiver, client::RawList list) {
  {
    const std::lock_guard lock(mutex_);
    if (!log_.is_followed_by(receiver)) return;
    version_ = std::max(version_, list.resource_version);
    std::vector<Json> gangs;
    objects_.clear();
    std::erase_if(list.objects, [&](const api::RawPtr& raw) {
      Result<Json> object = parse_json(*raw);
      if (!object) return false;
      const bool is_record = api::is_gang_record(*object);
      if (!is_record) appeared(key_of(api::decode_meta(*object)), raw, *object);
      if (is_record) gangs.push_back(*std::move(object));
      return is_record;
    });
    take_records(gangs, list.resource_version);
    for (const auto& [name, record] : records_) look_for_lost_objects(name, record);
    log_.deliver();  // a list hides no earlier change
    for (const auto& [key, kept] : kept_) list.kept.push_back(kept.request);
    receiver.on_list(std::move(list));
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
    if (!log_.is_followed_by(receiver)) return;
    std::vector<client::RawChange> passed;
    for (client::RawChange& change : changes) pass_change(std::move(change), passed);
    log_.deliver();
    if (!passed.empty()) receiver.on_changes(std::move(passed));
  }
  write_to_records();
}

void MemoryRequests::Table::pass_change(client::RawChange change, std::vector<client::RawChange>& passed) {
  if (change.document.is_null()) change.document = parse_json(*change.object).value_or(Json());
  const Json object = change.document;
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
    passed.push_back({client::ChangeKind::Added, nullptr, {}, found->second.request});
}

}  // namespace berth::binding
