#include <gtest/gtest.h>

#include "api/patch.h"
#include "api/types/gang_decision.h"
#include "client/api_path.h"
#include "scheduling/test_bench.h"

namespace berth::scheduling {
namespace {

void set_condition(Json& object, const Json& condition) {
  Json& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array({});
  for (Json& known : conditions.as_array())
    if (known.string_at("type") == condition.string_at("type")) return void(known = condition);
  conditions.as_array().push_back(condition);
}

}  // namespace

void TestBench::put(api::Kind kind, const std::string& text) {
  const Result<Json> object = parse_json(text);
  ASSERT_TRUE(object.ok()) << text;
  put_json(kind, *object);
}

void TestBench::put_json(api::Kind kind, Json object) {
  if (object["metadata"].string_at("uid").empty())
    object["metadata"]["uid"] = "uid-" + std::string(object["metadata"].string_at("name"));
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  auto typed = api::decode_typed(kind, std::make_shared<const std::string>(to_string(object)));
  ASSERT_TRUE(typed.ok());
  const api::ObjectMeta& meta = api::meta_of(*typed);
  api::ObjectKey key{kind, meta.ns, meta.name};
  if (kind == api::Kind::Other) {
    const api::ResourceInfo* row =
        api::find_resource_of_kind(object.string_at("apiVersion"), object.string_at("kind"));
    ASSERT_NE(row, nullptr);
    key.resource = {std::string(row->group), std::string(row->version), std::string(row->plural)};
  }
  if (auto delta = view.put(key, *typed)) scheduler.apply(view, *delta, now);
}

void TestBench::put_node(const NodeSpec& spec) {
  Json labels = Json::object({{"kubernetes.io/hostname", spec.name}});
  for (const auto& [key, value] : spec.labels) labels[key] = value;
  put(api::Kind::Node, R"({"metadata":{"name":")" + spec.name + R"(","uid":"node-)" + spec.name +
                           R"(","labels":)" + to_string(labels) + R"(},"spec":)" + spec.spec +
                           R"(,"status":{"allocatable":{"cpu":")" + spec.cpu + R"(","memory":")" +
                           spec.memory + R"(","pods":")" + spec.pods + "\"" + spec.allocatable + "}}}");
}

namespace {

std::string time_text(int created) {
  return format_time(Time::from_seconds(1'700'000'000 + created));
}

}  // namespace

void TestBench::put_pod(const PodSpec& spec) {
  Json requests = Json::object();
  if (!spec.cpu.empty()) requests["cpu"] = spec.cpu;
  if (!spec.memory.empty()) requests["memory"] = spec.memory;
  std::string text =
      R"({"metadata":{"name":")" + spec.name + R"(","namespace":"default","uid":")" +
      (spec.uid.empty() ? "uid-" + spec.name : spec.uid) + R"(","generation":1,"creationTimestamp":")" +
      time_text(spec.created) + "\"" +
      (spec.runs.empty()
           ? ""
           : R"(,"annotations":{"scheduling.berth.dev/expected-duration":")" + spec.runs + "\"}") +
      R"(},"spec":{"schedulerName":"berth","containers":[{"name":"c","resources":{"requests":)" +
      to_string(requests) + "}}]" + spec.spec;
  if (!spec.group.empty()) text += R"(,"schedulingGroup":{"podGroupName":")" + spec.group + "\"}";
  put(api::Kind::Pod, text + R"(},"status":{"phase":"Pending"}})");
}

void TestBench::put_group(const std::string& name, int minimum, const std::string& key, int priority,
                          int created) {
  const std::string policy =
      minimum == 0 ? R"({"basic":{}})" : R"({"gang":{"minCount":)" + std::to_string(minimum) + "}}";
  std::string text =
      R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-group-)" + name + "\"" +
      (created == 0 ? "" : R"(,"creationTimestamp":")" + time_text(created) + "\"") +
      R"(},"spec":{"priority":)" + std::to_string(priority) + R"(,"schedulingPolicy":)" + policy;
  if (!key.empty()) text += R"(,"schedulingConstraints":{"topology":[{"key":")" + key + "\"}]}";
  put(api::Kind::PodGroup, text + "}}");
}

void TestBench::put_class(const std::string& name, const std::string& selector) {
  put(api::Kind::DeviceClass, R"({"metadata":{"name":")" + name + R"(","uid":"class-)" + name +
                                  R"("},"spec":{"selectors":[{"cel":{"expression":")" + selector + "\"}}]}}");
}

void TestBench::put_slice(const std::string& name, const std::string& node, int count,
                          const std::string& driver) {
  std::string devices;
  for (int i = 0; i < count; ++i)
    devices += std::string(i == 0 ? "" : ",") + R"({"name":"d)" + std::to_string(i) + "\"}";
  put(api::Kind::ResourceSlice, R"({"metadata":{"name":")" + name + R"(","uid":"slice-)" + name +
                                    R"("},"spec":{"driver":")" + driver + R"(","pool":{"name":"pool-)" +
                                    name + R"(","generation":1,"resourceSliceCount":1},"nodeName":")" + node +
                                    R"(","devices":[)" + devices + "]}}");
}

void TestBench::put_claim(const std::string& name, const std::string& device_class, int count) {
  put(api::Kind::ResourceClaim,
      R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"uid-claim-)" + name +
          R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":")" + device_class +
          R"(","allocationMode":"ExactCount","count":)" + std::to_string(count) + "}}]}}}");
}

void TestBench::erase(api::Kind kind, const std::string& name, const std::string& ns) {
  if (auto delta = view.erase({kind, ns, name, {}}, ++version_)) scheduler.apply(view, *delta, now);
}

// As the process that keeps BindRequests in memory.
void TestBench::keep(const client::MemoryWrite& write) {
  auto kept = std::make_shared<api::BindRequest>(*write.wanted);
  kept->meta.uid = "uid-br-" + kept->meta.name;
  kept->meta.resource_version = static_cast<std::uint64_t>(++version_);
  kept->in_memory = true;
  const api::ObjectKey key = client::key_of(api::Kind::BindRequest, kept->meta);
  if (auto delta = view.put(key, api::BindRequestPtr(kept))) scheduler.apply(view, *delta, now);
}

void TestBench::write(const client::Write& write) {
  const client::ApiRequest& request = write.request;
  if (request.in_memory) return keep(*request.in_memory);
  const api::Kind kind = api::kind_of_resource(request.resource.group, request.resource.resource);
  const bool evicts = request.subresource == "eviction";
  if (kind == api::Kind::Pod && (evicts || request.verb == client::Verb::Delete)) {
    evictions.push_back((evicts ? "evict " : "delete ") + request.name);
    Json pod = *parse_json(*view.pods.find(request.ns, request.name)->raw);
    pod["metadata"]["deletionTimestamp"] = format_time(now + Duration::seconds(30));
    return put_json(kind, std::move(pod));
  }
  if (request.verb == client::Verb::Create) {
    Json object = *parse_json(request.body);
    object["metadata"]["uid"] = "uid-br-" + request.name;
    return put_json(kind, std::move(object));
  }
  if (request.verb == client::Verb::Update) return put_json(kind, *parse_json(request.body));
  if (request.verb == client::Verb::Delete) return erase(kind, request.name, request.ns);
  if (request.verb == client::Verb::MergePatch) {
    Json object = *parse_json(*api::raw_of(*view.find({kind, request.ns, request.name, {}})));
    return put_json(kind, api::merge_patched(std::move(object), *parse_json(request.body)));
  }
  ASSERT_EQ(request.verb, client::Verb::StrategicPatch);
  const Json patch = *parse_json(request.body);
  const Json& condition = patch.find_path({"status", "conditions"})->as_array().front();
  Json object = *parse_json(*api::raw_of(*view.find({kind, request.ns, request.name, {}})));
  set_condition(object, condition);
  put_json(kind, std::move(object));
}

client::ApiReply TestBench::read(const client::ApiRequest& request) const {
  const auto found = others.find(request.resource.resource + "/" + request.name);
  if (found == others.end()) return client::refused_reply(404, "NotFound", request.name + " not found");
  return client::answered_reply(200, found->second);
}

void TestBench::carry_out(const client::Effects& effects) {
  client::Outcome outcome{effects.decision_id, {}};
  for (const client::Chain& chain : effects.chains) {
    client::ApiReply last;
    for (const client::Write& one : chain.writes)
      if (one.request.verb == client::Verb::Get)
        last = read(one.request);
      else
        write(one);
    outcome.chains.push_back({chain.key, true, chain.writes.size(), std::move(last)});
  }
  events.insert(events.end(), effects.events.begin(), effects.events.end());
  scheduler.on_outcome(view, outcome, now);
}

std::size_t TestBench::refuse(const client::Effects& evictions, std::string_view why) {
  client::Outcome outcome{evictions.decision_id, {}};
  for (const client::Chain& chain : evictions.chains) {
    client::ApiReply last;
    last.code = 429;
    last.message = why;
    outcome.chains.push_back({chain.key, false, 0, std::move(last)});
  }
  scheduler.on_outcome(view, outcome, now);
  return outcome.chains.size();
}

std::vector<std::string> TestBench::run() {
  std::vector<std::string> texts;
  for (int i = 0; i < 10'000; ++i) {
    const client::Effects effects = decide();
    if (effects.chains.empty() && effects.events.empty()) return texts;
    texts.push_back(client::to_text(effects));
    carry_out(effects);
  }
  ADD_FAILURE() << "the scheduler does not come to rest";
  return texts;
}

std::string TestBench::node_of(const std::string& pod, const std::string& ns) const {
  const auto requests = view.bind_requests_of_pod(ns, pod);
  return requests.empty() || api::failed_for_good(*requests.front()) ? "" : requests.front()->node;
}

void TestBench::commit_gang(const std::string& group, const std::string& pod) {
  const auto requests = view.bind_requests_of_pod("default", pod);
  ASSERT_FALSE(requests.empty());
  const api::PodGroup& stored = *view.pod_groups.find("default", group);
  Json object = *parse_json(*stored.raw);
  const std::string& decision = requests.front()->decision_id;
  set_condition(object,
                api::to_json(api::gang_condition(stored, decision, api::GangOutcome::Committed, now)));
  if (!api::condition_is_true(stored.conditions, api::kGroupScheduled))
    set_condition(object, api::to_json(api::scheduled_condition(stored, true, "Scheduled", "", now)));
  put_json(api::Kind::PodGroup, std::move(object));
}

namespace {

template <class Object>
std::string field(const Object* object, std::string_view type, std::string api::Condition::* member) {
  const api::Condition* condition = object ? api::find_condition(object->conditions, type) : nullptr;
  return condition ? condition->*member : "";
}

}  // namespace

std::string TestBench::message_of(const std::string& pod) const {
  return field(view.pods.find("default", pod), "PodScheduled", &api::Condition::message);
}

std::string TestBench::event_of(const std::string& pod) const {
  std::string latest;
  for (const client::EventNote& event : events)
    if (event.regarding.kind == api::Kind::Pod && event.regarding.name == pod) latest = event.message;
  return latest;
}

std::string TestBench::reason_of(const std::string& pod) const {
  return field(view.pods.find("default", pod), "PodScheduled", &api::Condition::reason);
}

std::string TestBench::group_message(const std::string& group) const {
  return field(view.pod_groups.find("default", group), "PodGroupInitiallyScheduled",
               &api::Condition::message);
}

void TestBench::nominate(const std::string& pod, const std::string& node) {
  Json object = *parse_json(*view.pods.find("default", pod)->raw);
  object["status"]["nominatedNodeName"] = node;
  put_json(api::Kind::Pod, std::move(object));
}

void TestBench::bind(const std::string& pod) {
  Json object = *parse_json(*view.pods.find("default", pod)->raw);
  object["spec"]["nodeName"] = node_of(pod);
  put_json(api::Kind::Pod, std::move(object));
}

}  // namespace berth::scheduling
