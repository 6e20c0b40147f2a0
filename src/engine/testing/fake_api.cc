#include "engine/testing/fake_api.h"

#include <algorithm>
#include <array>

#include "api/patch.h"
#include "client/api_path.h"

namespace berth::engine::testing {

using client::ApiReply;
using client::ApiRequest;
using client::ChangeKind;
using client::Delivery;
using client::Verb;

struct FakeApi::Watch {
  api::ResourceRef resource;
  client::WatchReceiver* receiver = nullptr;  // null once the subscription ended
  bool list_waits = false;
  std::vector<api::RawPtr> listed;
  std::uint64_t listed_at = 0;
  std::vector<client::RawChange> changes;
};

class FakeApi::Handle final : public client::Subscription {
 public:
  explicit Handle(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}
  ~Handle() override { watch_->receiver = nullptr; }

 private:
  std::shared_ptr<Watch> watch_;
};

namespace {

api::RawPtr raw_of(const Json& object) {
  return std::make_shared<const std::string>(to_string(object));
}

ApiReply status(int code, const std::string& reason) {
  return client::refused_reply(code, reason, reason);
}

ApiReply answered(int code, const Json& object) {
  return client::answered_reply(code, to_string(object));
}

ApiReply undelivered(Delivery delivery) {
  ApiReply reply;
  reply.delivery = delivery;
  return reply;
}

std::string text_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* found = object.find_path(path);
  return found && found->is_string() ? found->as_string() : "";
}

bool has_finalizers(const Json& object, std::string_view section) {
  const Json* of = object.find(section);
  return of && !of->items_at("finalizers").empty();
}

bool deleting(const Json& object) {
  return !text_at(object, {"metadata", "deletionTimestamp"}).empty();
}

std::int64_t grace_of(const Json& object) {
  const Json* grace = object.find_path({"metadata", "deletionGracePeriodSeconds"});
  return grace ? grace->as_int() : 0;
}

Json body_of(const ApiRequest& request) {
  if (request.body.empty()) return Json::object();
  auto body = parse_json(request.body);
  BERTH_ASSERT(body.ok(), "bodies are JSON");
  return *std::move(body);
}

// The UID and version in `body`, if any, are those of `stored`.
bool names_version(const Json& body, const Json& stored) {
  const std::string uid = text_at(body, {"metadata", "uid"});
  const std::string version = text_at(body, {"metadata", "resourceVersion"});
  return (uid.empty() || uid == text_at(stored, {"metadata", "uid"})) &&
         (version.empty() || version == text_at(stored, {"metadata", "resourceVersion"}));
}

// Strategic merge as far as controllers need it: conditions merge by type.
Json merged_conditions(const Json& stored, const JsonArray& patch) {
  const Json* status = stored.find("status");
  JsonArray all = status ? status->items_at("conditions") : JsonArray{};
  for (const Json& condition : patch) {
    const auto same = [&](const Json& known) {
      return known.string_at("type") == condition.string_at("type");
    };
    const auto known = std::find_if(all.begin(), all.end(), same);
    if (known == all.end())
      all.push_back(condition);
    else
      *known = api::merge_patched(std::move(*known), condition);
  }
  return all;
}

// The patched or replaced object; fields that the subresource may not change come from the stored one.
Json next_state(const ApiRequest& request, const Json& stored, Json body) {
  Json next = stored;
  if (request.verb == Verb::Update) {
    if (request.subresource == "status") {
      next["status"] = body["status"];
    } else if (request.subresource == "finalize") {
      next["spec"] = body["spec"];
    } else {
      const Json* kept = stored.find("status");
      if (kept) body["status"] = *kept;
      next = std::move(body);
    }
  } else {
    if (request.verb == Verb::StrategicPatch)
      if (Json* conditions = body.find("status") ? body.find("status")->find("conditions") : nullptr)
        *conditions = merged_conditions(stored, conditions->as_array());
    next = api::merge_patched(std::move(next), body);
    if (request.subresource.empty())
      if (const Json* kept = stored.find("status")) next["status"] = *kept;
  }
  const Json& meta = *stored.find("metadata");
  for (const std::string_view key : {"uid", "deletionTimestamp", "deletionGracePeriodSeconds"})
    if (const Json* value = meta.find(key)) next["metadata"][key] = *value;
  return next;
}

// The scale of an object: its name, version and replicas alone. The selector is that of its status.
Json scale_of(const Json& stored) {
  const Json &meta = stored.part("metadata"), &status = stored.part("status");
  Json scale = Json::object({{"kind", "Scale"}, {"apiVersion", "autoscaling/v1"}});
  for (const char* member : {"name", "namespace", "uid", "resourceVersion"})
    if (const Json* value = meta.find(member)) scale["metadata"][member] = *value;
  scale["spec"]["replicas"] = stored.part("spec").int_at("replicas");
  scale["status"]["replicas"] = status.int_at("replicas");
  scale["status"]["selector"] = status.string_at("selector");
  return scale;
}

}  // namespace

void FakeApi::submit(ApiRequest request, std::function<void(ApiReply)> done) {
  requests_.push_back({std::move(request), std::move(done)});
}

bool FakeApi::answer(std::size_t n) {
  if (!held_.empty()) return release();
  return carry_out_only(n) && release();
}

bool FakeApi::release(std::size_t n) {
  if (n >= held_.size()) return false;
  const std::function<void()> answer = std::move(held_[n]);
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(n));
  answer();
  return true;
}

bool FakeApi::carry_out_only(std::size_t n) {
  if (n >= requests_.size()) return false;
  Request next = std::move(requests_[n]);
  requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(n));
  const InjectedFault kind = fault ? fault(next.request) : InjectedFault::None;
  ApiReply reply;
  switch (kind) {
    case InjectedFault::None:
      reply = carry_out(next.request);
      break;
    case InjectedFault::LostDone:
      carry_out(next.request);
      reply = undelivered(Delivery::Lost);
      break;
    case InjectedFault::LostNotDone:
      reply = undelivered(Delivery::Lost);
      break;
    case InjectedFault::NotSent:
      reply = undelivered(Delivery::NotSent);
      break;
    case InjectedFault::Throttled:
      reply = status(429, "TooManyRequests");
      break;
    case InjectedFault::ServerError:
      reply = status(500, "InternalError");
      break;
    case InjectedFault::Conflict:
      reply = status(409, "Conflict");
      break;
    case InjectedFault::Refused:
      reply = status(422, "Invalid");
      break;
  }
  held_.push_back([done = std::move(next.done), reply = std::move(reply)] { done(reply); });
  return true;
}

std::vector<std::string> FakeApi::waiting_names() const {
  std::vector<std::string> names;
  for (const Request& waiting : requests_) names.push_back(waiting.request.name);
  return names;
}

ApiReply FakeApi::carry_out(const ApiRequest& request) {
  constexpr std::array<std::string_view, 7> kVerbs = {"create",     "update", "patch", "strategic-patch",
                                                      "json-patch", "delete", "get"};
  std::string line(kVerbs[static_cast<std::size_t>(request.verb)]);
  line += " " + request.resource.api_version() + "/" + request.resource.resource + " ";
  if (!request.ns.empty()) line += request.ns + "/";
  line += request.name;
  if (!request.subresource.empty()) line += "/" + request.subresource;
  log.push_back(std::move(line));
  arrived.push_back(request);

  ApiReply reply = dispatch(request);
  if (on_accepted && reply.ok() && request.verb != Verb::Get) on_accepted(request);
  return reply;
}

ApiReply FakeApi::dispatch(const ApiRequest& request) {
  if (request.verb == Verb::Create && request.subresource.empty()) return create(request);
  Objects& objects = objects_[request.resource];
  const auto found = objects.find({request.ns, request.name});
  if (found == objects.end()) return status(404, "NotFound");
  const bool of_scale = request.subresource == client::kScaleSubresource;
  if (request.verb == Verb::Get) return answered(200, of_scale ? scale_of(found->second) : found->second);
  if (request.verb == Verb::Create) return bind(request, found->second);
  if (request.verb == Verb::Delete) return erase(request, found->second);
  ApiReply written = write(request, found->second);
  return of_scale && written.ok() ? answered(200, scale_of(found->second)) : written;
}

ApiReply FakeApi::create(const ApiRequest& request) {
  Json object = body_of(request);
  object["metadata"]["name"] = request.name;
  if (!request.ns.empty()) object["metadata"]["namespace"] = request.ns;
  if (objects_[request.resource].count({request.ns, request.name}) > 0) return status(409, "AlreadyExists");
  object["metadata"]["creationTimestamp"] = format_time(clock_.now());
  put(request.resource, std::move(object));
  return answered(201, *find(request.resource, request.ns, request.name));
}

ApiReply FakeApi::write(const ApiRequest& request, Json& stored) {
  if (request.verb == Verb::JsonPatch) {
    Result<Json> patched = api::apply_json_patch(stored, request.body);
    if (!patched) return status(422, "Invalid");
    return store(request.resource, stored, *std::move(patched));
  }
  Json body = body_of(request);
  if (!names_version(body, stored)) return status(409, "Conflict");
  return store(request.resource, stored, next_state(request, stored, std::move(body)));
}

ApiReply FakeApi::bind(const ApiRequest& request, Json& stored) {
  if (!text_at(stored, {"spec", "nodeName"}).empty() || deleting(stored)) return status(409, "Conflict");
  if (!names_version(body_of(request), stored)) return status(409, "Conflict");
  Json next = stored;
  next["spec"]["nodeName"] = text_at(body_of(request), {"target", "name"});
  store(request.resource, stored, std::move(next));
  ApiReply reply;
  reply.code = 201;
  return reply;
}

// An update without a change keeps the version; removing the last finalizer removes the object.
ApiReply FakeApi::store(const api::ResourceRef& resource, Json& stored, Json next) {
  next["metadata"]["resourceVersion"] = text_at(stored, {"metadata", "resourceVersion"});
  const bool holds = has_finalizers(next, "metadata") || has_finalizers(next, "spec") || grace_of(next) > 0;
  if (deleting(next) && !holds) {
    erase_now(resource, {text_at(next, {"metadata", "namespace"}), text_at(next, {"metadata", "name"})});
    return answered(200, next);
  }
  if (next == stored) return answered(200, stored);
  next["metadata"]["resourceVersion"] = std::to_string(++version_);
  stored = std::move(next);
  publish(resource, ChangeKind::Modified, stored);
  return answered(200, stored);
}

ApiReply FakeApi::erase(const ApiRequest& request, Json& stored) {
  constexpr std::int64_t kGraceDefault = 30;
  const Json options = body_of(request);
  const std::string uid = text_at(options, {"preconditions", "uid"});
  if (!uid.empty() && uid != text_at(stored, {"metadata", "uid"})) return status(409, "Conflict");
  const std::string version = text_at(options, {"preconditions", "resourceVersion"});
  if (!version.empty() && version != text_at(stored, {"metadata", "resourceVersion"}))
    return status(409, "Conflict");
  Json next = stored;
  const bool bound = request.resource.resource == "pods" && !text_at(stored, {"spec", "nodeName"}).empty();
  const std::int64_t grace = bound ? options.int_at("gracePeriodSeconds", kGraceDefault) : 0;
  const std::string_view propagation = options.string_at("propagationPolicy");
  if (propagation == "Foreground" || propagation == "Orphan") {
    JsonArray finalizers = stored.find("metadata")->items_at("finalizers");
    finalizers.emplace_back(propagation == "Orphan" ? "orphan" : "foregroundDeletion");
    next["metadata"]["finalizers"] = std::move(finalizers);
  }
  if (!deleting(stored)) next["metadata"]["deletionTimestamp"] = format_time(clock_.now());
  next["metadata"]["deletionGracePeriodSeconds"] = grace;
  if (request.resource.resource == "namespaces") next["status"]["phase"] = "Terminating";
  return store(request.resource, stored, std::move(next));
}

void FakeApi::put(const api::ResourceRef& resource, Json object) {
  const Name name{text_at(object, {"metadata", "namespace"}), text_at(object, {"metadata", "name"})};
  Objects& objects = objects_[resource];
  const auto found = objects.find(name);
  if (text_at(object, {"metadata", "uid"}).empty())
    object["metadata"]["uid"] = found == objects.end() ? "uid-" + std::to_string(++uids_)
                                                       : text_at(found->second, {"metadata", "uid"});
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  const ChangeKind kind = found == objects.end() ? ChangeKind::Added : ChangeKind::Modified;
  publish(resource, kind, objects[name] = std::move(object));
}

void FakeApi::put(api::Kind kind, std::string_view object) {
  auto json = parse_json(object);
  BERTH_ASSERT(json.ok(), "test objects are JSON");
  put(api::ref_of(kind), *std::move(json));
}

void FakeApi::change(api::Kind kind, const std::string& ns, const std::string& name,
                     std::string_view merge_patch) {
  const Json* stored = find(kind, ns, name);
  const auto patch = parse_json(merge_patch);
  BERTH_ASSERT(stored && patch.ok(), "change() patches what is there");
  Json next = *stored;
  next = api::merge_patched(std::move(next), *patch);
  put(api::ref_of(kind), std::move(next));
}

void FakeApi::remove(const api::ResourceRef& resource, const std::string& ns, const std::string& name) {
  erase_now(resource, {ns, name});
}

void FakeApi::erase_now(const api::ResourceRef& resource, const Name& name) {
  Objects& objects = objects_[resource];
  const auto found = objects.find(name);
  BERTH_ASSERT(found != objects.end(), "only what is there can be erased");
  Json last = std::move(found->second);
  objects.erase(found);
  last["metadata"]["resourceVersion"] = std::to_string(++version_);
  publish(resource, ChangeKind::Deleted, last);
}

const Json* FakeApi::find(const api::ResourceRef& resource, const std::string& ns,
                          const std::string& name) const {
  const auto objects = objects_.find(resource);
  if (objects == objects_.end()) return nullptr;
  const auto found = objects->second.find({ns, name});
  return found == objects->second.end() ? nullptr : &found->second;
}

const Json* FakeApi::find(api::Kind kind, const std::string& ns, const std::string& name) const {
  return find(api::ref_of(kind), ns, name);
}

std::vector<const Json*> FakeApi::all(const api::ResourceRef& resource) const {
  std::vector<const Json*> objects;
  const auto found = objects_.find(resource);
  if (found == objects_.end()) return objects;
  for (const auto& [name, object] : found->second) objects.push_back(&object);
  return objects;
}

void FakeApi::publish(const api::ResourceRef& resource, ChangeKind kind, const Json& object) {
  for (const auto& watch : watches_)
    if (watch->resource == resource) watch->changes.push_back({kind, raw_of(object)});
}

void FakeApi::list(Watch& watch) const {
  watch.list_waits = true;
  watch.listed.clear();
  watch.changes.clear();
  watch.listed_at = version_;
  for (const Json* object : all(watch.resource)) watch.listed.push_back(raw_of(*object));
}

std::unique_ptr<client::Subscription> FakeApi::list_and_watch(api::ResourceRef resource,
                                                              client::WatchReceiver& receiver) {
  auto watch = std::make_shared<Watch>();
  watch->resource = std::move(resource);
  watch->receiver = &receiver;
  list(*watch);
  watches_.push_back(watch);
  return std::make_unique<Handle>(watch);
}

void FakeApi::relist(const api::ResourceRef& resource) {
  for (const auto& watch : watches_)
    if (watch->resource == resource) list(*watch);
}

void FakeApi::refuse_as_not_served(std::size_t n) {
  watches_.at(n)->receiver->on_not_served();
}

bool FakeApi::deliver(std::size_t n) {
  Watch& watch = *watches_.at(n);
  if (!watch.receiver || (!watch.list_waits && watch.changes.empty())) return false;
  if (watch.list_waits) {
    watch.list_waits = false;
    watch.receiver->on_list({std::move(watch.listed), watch.listed_at});
  }
  if (!watch.changes.empty()) watch.receiver->on_changes(std::exchange(watch.changes, {}));
  return true;
}

bool FakeApi::deliver(const api::ResourceRef& resource) {
  bool delivered = false;
  for (std::size_t n = 0; n < watches_.size(); ++n)
    if (watches_[n]->resource == resource) delivered |= deliver(n);
  return delivered;
}

bool FakeApi::deliver_all() {
  bool delivered = false;
  for (std::size_t n = 0; n < watches_.size(); ++n) delivered |= deliver(n);
  return delivered;
}

}  // namespace berth::engine::testing
