// Records of gangs: the members' BindRequests in one object, which outlives the process that keeps them.
//
// Members that are submitted before a flush share one record, whatever their gangs; members that are
// submitted while it is written, or within kGangRecordInterval, share the next one of their namespace. So
// many small gangs cost as few records as a large one (Nagle's algorithm, with a bound on the wait): a
// record's create and delete cost the API server as much as eight bindings.
#include <algorithm>

#include "api/type_table.h"
#include "api/types/gang_record.h"
#include "binding/memory_request_table.h"
#include "client/api_path.h"

namespace berth::binding {
namespace {

using client::ApiReply;
using client::ApiRequest;
using client::NamedKey;
using client::Verb;

ApiRequest request_for(Verb verb, const NamedKey& key) {
  return {.verb = verb, .resource = api::ref_of(api::Kind::BindRequest), .ns = key.ns, .name = key.name};
}

// The record cannot be created: its members get objects of their own.
bool is_refused(const ApiReply& reply) {
  return reply.code == 400 || reply.code == 403 || reply.code == 413 || reply.code == 422;
}

bool is_gone(const ApiReply& reply) {
  return reply.ok() || reply.reason == "NotFound";
}

}  // namespace

std::optional<Time> MemoryRequests::Table::write_records(Time now) {
  std::vector<std::string> ready;
  std::optional<Time> next;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = forming_.begin(); at != forming_.end();) {
      auto& [ns, forming] = *at;
      const Time due = forming.begun_at + kGangRecordInterval;
      const bool early = forming.begun_at.is_set() && forming.begun_at <= now && now < due;
      if (!forming.under_way && !forming.waiting.empty()) {
        if (!early || forming.waiting.size() >= kGangRecordMembersSoon) {
          forming.begun_at = now;
          ready.push_back(ns);
        } else {
          next = std::min(next.value_or(due), due);
        }
      }
      at = forming.waiting.empty() && !forming.under_way && !early ? forming_.erase(at) : std::next(at);
    }
  }
  for (const std::string& ns : ready) write_record(ns);
  return next;
}

// Members of one scheduler and term, in the order of submission.
MemoryRequests::Table::Members MemoryRequests::Table::next_members(const std::string& ns) {
  const std::lock_guard lock(mutex_);
  const auto forming = forming_.find(ns);
  if (forming == forming_.end() || forming->second.under_way || forming->second.waiting.empty()) return {};
  Members& waiting = forming->second.waiting;
  const api::BindRequest& first = *waiting.front().request;
  const auto end = std::find_if(waiting.begin(), waiting.end(), [&](const Creation& creation) {
    const api::BindRequest& request = *creation.request;
    return request.epoch != first.epoch || request.lease != first.lease ||
           request.scheduler_name != first.scheduler_name;
  });
  Members members(std::make_move_iterator(waiting.begin()), std::make_move_iterator(end));
  waiting.erase(waiting.begin(), end);
  forming->second.under_way = true;
  return members;
}

// As many as one object may have; the other members wait again, before later ones.
std::vector<Json> MemoryRequests::Table::specs_of_next_record(const std::string& ns, Members& members) {
  std::vector<Json> specs;
  for (std::size_t bytes = 0; specs.size() < members.size() && bytes < kGangRecordBytesMax;) {
    specs.push_back(api::bind_request_spec(*members[specs.size()].request));
    bytes += to_string(specs.back()).size();
  }
  const auto end = members.begin() + static_cast<std::ptrdiff_t>(specs.size());
  const std::lock_guard lock(mutex_);
  Members& waiting = forming_[ns].waiting;
  waiting.insert(waiting.begin(), std::make_move_iterator(end), std::make_move_iterator(members.end()));
  members.erase(end, members.end());
  return specs;
}

void MemoryRequests::Table::write_record(const std::string& ns) {
  auto members = std::make_shared<Members>(next_members(ns));
  if (members->empty()) return;
  const Json record = api::gang_record_object(ns, specs_of_next_record(ns, *members));
  const NamedKey key{ns, std::string(record.part("metadata").string_at("name"))};
  ApiRequest create = request_for(Verb::Create, key);
  create.body = to_string(record);
  inner_.submit(std::move(create), [self = shared_from_this(), key, members](const ApiReply& reply) {
    self->record_answered(key, *members, reply);
  });
}

// The watch may deliver the record before the create's answer; by then the member may have ended or become an
// object.
ApiReply MemoryRequests::Table::take_member(const Creation& member, const std::string& record) {
  if (objects_.contains(member.key))
    return client::refused_reply(409, "AlreadyExists", "the bind request in memory has become an object");
  if (records_[{member.key.ns, record}].ended.contains(member.key)) return kept_reply(201, member.request);
  const auto found = kept_.find(member.key);
  const Kept& kept = found != kept_.end() ? found->second : keep(member.key, *member.request, record);
  return kept_reply(201, kept.request);
}

void MemoryRequests::Table::record_stands(const NamedKey& record, const api::RawPtr& object) {
  GangRecord& written = records_[record];
  if (written.members.empty()) ended_records_.insert(record);
  if (!object) return;
  if (const Result<Json> stored = parse_json(*object))
    written.version = api::decode_meta(*stored).resource_version;
}

// AlreadyExists: an earlier copy was stored, as the name is derived from the content.
void MemoryRequests::Table::record_answered(const NamedKey& record, const Members& members,
                                            const ApiReply& reply) {
  const bool stored = reply.ok() || reply.reason == "AlreadyExists";
  std::vector<ApiReply> answers;
  {
    const std::lock_guard lock(mutex_);
    forming_[record.ns].under_way = false;
    for (const Creation& member : members) {
      waiting_bytes_ -= member.bytes;
      if (!stored) continue;
      answers.push_back(take_member(member, record.name));
    }
    if (stored) record_stands(record, reply.object);
    log_.deliver();
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (stored) {
      members[i].done(std::move(answers[i]));
    } else if (is_refused(reply)) {
      inner_.submit(object_create(*members[i].request), members[i].done);
    } else {
      members[i].done(reply);
    }
  }
}

// Known members stay as they are: the record has no status, they have.
void MemoryRequests::Table::expand(const Json& record) {
  const api::ObjectMeta meta = api::decode_meta(record);
  const NamedKey name{meta.ns, meta.name};
  GangRecord& known = records_[name];
  known.version = meta.resource_version;
  if (const auto told = meta.annotations.find(std::string(kEndedMembersAnnotation));
      told != meta.annotations.end())
    api::for_each_listed(
        told->second, [&](std::string_view member) { known.marked.insert({meta.ns, std::string(member)}); });
  known.ended.insert(known.marked.begin(), known.marked.end());
  for (const Json& spec : api::specs_of_gang_record(record)) {
    const NamedKey key{meta.ns, api::request_name_of_spec(spec)};
    if (objects_.contains(key)) {
      known.replaced.insert(key);
      known.ended.insert(key);
    }
    if (!kept_.contains(key) && !known.ended.contains(key))
      keep(key, api::request_of_spec(meta.ns, spec), meta.name);
  }
  if (known.members.empty()) ended_records_.insert(name);
}

// The latest record first: it has precedence for its pods. Records never change.
void MemoryRequests::Table::take_records(const std::vector<Json>& gangs, std::uint64_t list_version) {
  std::set<NamedKey> listed;
  std::multimap<std::uint64_t, const Json*, std::greater<>> by_version;
  for (const Json& record : gangs) {
    const api::ObjectMeta meta = api::decode_meta(record);
    listed.insert({meta.ns, meta.name});
    by_version.emplace(meta.resource_version, &record);
  }
  for (const auto& [version, record] : by_version) expand(*record);
  std::vector<NamedKey> gone;
  for (const auto& [key, record] : records_)
    if (!listed.contains(key) && record.version <= list_version) gone.push_back(key);
  for (const NamedKey& record : gone) record_is_gone(record);
}

// Another process has bound its members, or a client deleted it: members that have begun here go on.
void MemoryRequests::Table::record_is_gone(const NamedKey& record) {
  const auto found = records_.find(record);
  if (found == records_.end()) return static_cast<void>(ended_records_.erase(record));
  const std::set<NamedKey> members = std::move(found->second.members);
  records_.erase(found);
  for (const NamedKey& key : members) {
    Kept& kept = kept_.at(key);
    kept.record.clear();
    if (!kept.leaving && !kept.has_status) forget(key);
  }
}

void MemoryRequests::Table::leave_record(const NamedKey& key, const std::string& record) {
  const auto found = records_.find({key.ns, record});
  if (found == records_.end()) return;
  found->second.members.erase(key);
  found->second.ended.insert(key);
  if (found->second.members.empty()) ended_records_.insert(found->first);
}

// The last member stays until its record is deleted, so the deletion of the member is repeated.
void MemoryRequests::Table::delete_record_before(const ApiRequest& request, const std::string& record,
                                                 const Done& done) {
  const auto deleted = [self = shared_from_this(), request, record, done](ApiReply reply) {
    if (!is_gone(reply)) return done(std::move(reply));
    {
      const std::lock_guard lock(self->mutex_);
      const NamedKey key{request.ns, request.name};
      GangRecord& deleted_record = self->records_[{request.ns, record}];
      deleted_record.members.erase(key);
      deleted_record.ended.insert(key);
      if (const auto kept = self->kept_.find(key); kept != self->kept_.end()) kept->second.record.clear();
    }
    if (!self->answer(request, done)) done(client::refused_reply(404, "NotFound", "it is gone"));
    self->deliver();
  };
  inner_.submit(request_for(Verb::Delete, {request.ns, record}), deleted);
}

// Records without members: their deletion is repeated at every change of a BindRequest, and by the next
// process.
void MemoryRequests::Table::delete_ended_records() {
  std::set<NamedKey> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_records_);
  }
  for (const NamedKey& record : ended)
    inner_.submit(request_for(Verb::Delete, record),
                  [self = shared_from_this(), record](const ApiReply& reply) {
                    if (is_gone(reply)) return;
                    const std::lock_guard lock(self->mutex_);
                    self->ended_records_.insert(record);
                  });
}

// The object of a member was deleted before its record: the stored record has to say so, or the next process
// would go on with a decision that somebody took back.
void MemoryRequests::Table::look_for_lost_objects(const NamedKey& name, const GangRecord& record) {
  for (const NamedKey& key : record.replaced)
    if (!objects_.contains(key) && !record.marked.contains(key))
      return static_cast<void>(unmarked_records_.insert(name));
}

std::string ended_members_text(const std::set<NamedKey>& members) {
  std::string names;
  for (const NamedKey& key : members)
    if (names.size() + key.name.size() < kEndedMembersBytesMax)
      names.append(names.empty() ? "" : ",").append(key.name);
  return names;
}

// None if nothing is to be said, or a write is under way; `marked` is what the record names after it.
std::optional<ApiRequest> MemoryRequests::Table::next_mark(const NamedKey& name, std::set<NamedKey>& marked) {
  const auto found = records_.find(name);
  if (found == records_.end() || found->second.marking || ended_records_.contains(name)) return std::nullopt;
  GangRecord& record = found->second;
  marked = record.marked;
  for (const NamedKey& key : record.replaced)
    if (!objects_.contains(key)) marked.insert(key);
  if (marked == record.marked) return std::nullopt;
  record.marking = true;
  const std::string names = ended_members_text(marked);
  ApiRequest request = request_for(Verb::MergePatch, name);
  request.body = to_string(Json::object(
      {{"metadata",
        Json::object({{"annotations", Json::object({{std::string(kEndedMembersAnnotation), names}})}})}}));
  return request;
}

// Repeated, as deletions of records are, at every change of a BindRequest until it stands.
void MemoryRequests::Table::mark_ended_members() {
  std::set<NamedKey> unmarked;
  {
    const std::lock_guard lock(mutex_);
    unmarked.swap(unmarked_records_);
  }
  for (const NamedKey& name : unmarked) {
    std::set<NamedKey> marked;
    std::optional<ApiRequest> request;
    {
      const std::lock_guard lock(mutex_);
      request = next_mark(name, marked);
    }
    if (!request) continue;
    inner_.submit(*std::move(request), [self = shared_from_this(), name, marked](const ApiReply& reply) {
      const std::lock_guard lock(self->mutex_);
      const auto found = self->records_.find(name);
      if (found == self->records_.end()) return;
      found->second.marking = false;
      if (is_gone(reply) || is_refused(reply)) found->second.marked.insert(marked.begin(), marked.end());
      self->look_for_lost_objects(name, found->second);
    });
  }
}

void MemoryRequests::Table::write_to_records() {
  delete_ended_records();
  mark_ended_members();
}

}  // namespace berth::binding
