#include "sim/story.h"

#include <algorithm>
#include <array>
#include <vector>

#include "api/type_table.h"
#include "api/types/gpu_share.h"
#include "api/yaml.h"
#include "base/ascii.h"
#include "base/text_file.h"
#include "sim/story_health.h"
#include "sim/story_pod.h"
#include "sim/story_scoring.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

constexpr std::size_t kStoryBytesMax = 4u << 20;
constexpr std::int64_t kObjectsAtOnceMax = 1000;  // of one `apply` with a count

// "pod/web", "resourceclaim/default/gpu": kind in lower case, namespace when it is not "default", name.
struct StoryName {
  const api::ResourceInfo* resource = nullptr;
  std::string ns = "default";
  std::string name;
};

Result<StoryName> parse_name(const std::string& text) {
  StoryName parsed;
  const std::size_t first = text.find('/'), last = text.rfind('/');
  if (first == std::string::npos) return Error(ErrorCode::Invalid, text, "write kind/name, such as pod/web");
  for (const api::ResourceInfo& resource : api::resources())
    if (!parsed.resource && to_lower(resource.kind) == to_lower(text.substr(0, first)))
      parsed.resource = &resource;
  if (!parsed.resource) return Error(ErrorCode::Invalid, text, "names a kind that is not served");
  if (first != last) parsed.ns = text.substr(first + 1, last - first - 1);
  if (!parsed.resource->namespaced) parsed.ns.clear();
  parsed.name = text.substr(last + 1);
  return parsed;
}

api::ResourceRef ref_of(const StoryName& name) {
  return {std::string(name.resource->group), std::string(name.resource->version),
          std::string(name.resource->plural)};
}

constexpr std::array<std::string_view, 5> kShortWords = {"phase", "node", "why", "event", "gpus"};
constexpr std::array<std::string_view, 2> kContainingWords = {"why", "event"};

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The state of an object in the short words of an expectation.
std::string word_of(World& world, const Json& object, std::string_view word) {
  if (word == "event") return failed_scheduling_event(world, object);
  if (word == "phase") {
    const Json* phase = object.find_path({"status", "phase"});
    return phase && phase->is_string() ? phase->as_string() : "";
  }
  if (word == "node") {
    const Json* node = object.find_path({"spec", "nodeName"});
    return node && node->is_string() ? node->as_string() : "";
  }
  if (word == "gpus") {
    const Json& annotations = object.part("metadata").part("annotations");
    const std::string_view groups = annotations.string_at(api::kGpuGroupsAnnotation);
    return groups.empty()
               ? ""
               : std::string(groups).append(" ").append(annotations.string_at(api::kGpuPortionAnnotation));
  }
  if (word == "why") {
    const Json* status = object.find("status");
    if (!status) return "";
    for (const Json& condition : status->items_at("conditions"))
      if (condition.string_at("status") == "False") return std::string(condition.string_at("message"));
  }
  return "";
}

// The value at "status.conditions[type=Ready].status" or a plain dotted path; null when absent.
const Json* value_at(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (at && !path.empty()) {
    const std::size_t end = path.find_first_of(".[");
    if (end != 0) at = at->find(path.substr(0, end));
    if (end == std::string_view::npos || !at) return at;
    if (path[end] == '.') {
      path.remove_prefix(end + 1);
      continue;
    }
    const std::size_t close = path.find(']', end);
    if (close == std::string_view::npos || !at->is_array()) return nullptr;
    const std::string_view inside = path.substr(end + 1, close - end - 1);
    const std::size_t equals = inside.find('=');
    const Json* found = nullptr;
    for (std::size_t i = 0; i < at->as_array().size() && !found; ++i) {
      const Json& item = at->as_array()[i];
      const bool named = equals != std::string_view::npos &&
                         item.string_at(inside.substr(0, equals)) == inside.substr(equals + 1);
      if (named || std::to_string(i) == inside) found = &item;
    }
    at = found;
    path.remove_prefix(close + 1);
    if (!path.empty() && path.front() == '.') path.remove_prefix(1);
  }
  return at;
}

Status create(World& world, const Json& object) {
  const client::ApiReply reply = world.create(object);
  if (!reply.ok()) return Error(ErrorCode::Invalid, reply.message);
  return {};
}

class Runner {
 public:
  Runner(World& world, std::string given_directory)
      : world_(world), given_directory_(std::move(given_directory)) {}

  Status give(const Json& story) {
    for (const Json& file : story.items_at("given"))
      TRY(sim::give(world_, given_directory_ + "/" + (file.is_string() ? file.as_string() : "")));
    return {};
  }

  // The failure of the step, or nothing.
  Result<std::string> step(const Json& step) {
    if (!step.is_object() || step.as_object().size() != 1)
      return Error(ErrorCode::Invalid,
                   "a step is one of apply, create, patch, delete, evict, health, settle, kill, restart, "
                   "expect, count");
    const JsonMember& said = *step.as_object().begin();
    const Json& value = said.value;
    Status done;
    if (said.key == "expect") return expect(value);
    if (said.key == "count") return count(value);
    if (said.key == "apply")
      done = apply(value);
    else if (said.key == "create")
      done = create_all(value);
    else if (said.key == "patch")
      done = patch_all(value);
    else if (said.key == "delete")
      done = remove(value);
    else if (said.key == "evict")
      return evict(value);
    else if (said.key == "health")
      done = report_health(world_, value);
    else if (said.key == "settle")
      done = settle(value);
    else if (said.key == "kill")
      done = kill(value);
    else if (said.key == "restart" && value.is_string())
      done = world_.restart_deciders(value.as_string());
    else if (said.key == "restart")
      world_.restart_deciders();
    else
      return Error(ErrorCode::Invalid, said.key, "is no step");
    if (!done) return done.error();
    return std::string();
  }

 private:
  Status apply(const Json& words) {
    const std::int64_t count = words.int_at("count", 0);
    if (words.find("nodes")) return apply_nodes(words, count);
    if (count == 0) return create(world_, story_pod(words));
    const std::string name(words.string_at("pod"));
    for (std::int64_t i = 0; i < std::min(count, kObjectsAtOnceMax); ++i) {
      Json one = words;
      one["pod"] = name + "-" + std::to_string(i);
      if (Status created = create(world_, story_pod(one)); !created) return created;
      if (const Json* every = words.find("every")) TRY(settle(*every));
    }
    return {};
  }

  Status apply_nodes(const Json& words, std::int64_t count) {
    if (count < 1) return Error(ErrorCode::Invalid, "apply", "takes nodes: NAME with count: 1 or more");
    for (std::int64_t i = 0; i < std::min(count, kObjectsAtOnceMax); ++i)
      TRY(create(world_, story_node(words, std::string(words.string_at("nodes")) + "-" + std::to_string(i))));
    return {};
  }

  Status create_all(const Json& value) {
    if (value.is_object()) return create(world_, value);
    if (!value.is_array()) return Error(ErrorCode::Invalid, "create", "takes an object or a list of objects");
    for (const Json& object : value.as_array())
      if (Status created = create(world_, object); !created) return created;
    return {};
  }

  Status patch_all(const Json& value) {
    if (!value.is_object()) return Error(ErrorCode::Invalid, "patch", "takes kind/name: merge patch");
    for (const JsonMember& member : value.as_object()) {
      const bool status = member.value.find("status") != nullptr;
      const StoryName name = TRY(parse_name(member.key));
      const client::ApiReply reply = world_.call({client::Verb::MergePatch, ref_of(name), name.ns, name.name,
                                                  status ? "status" : "", to_string(member.value)});
      if (!reply.ok()) return Error(ErrorCode::Invalid, member.key, reply.message);
    }
    return {};
  }

  Status remove(const Json& value) {
    const StoryName name = TRY(parse_name(value.is_string() ? value.as_string() : ""));
    const client::ApiReply reply =
        world_.call({client::Verb::Delete, ref_of(name), name.ns, name.name, "", ""});
    if (!reply.ok()) return Error(ErrorCode::Invalid, name.name, reply.message);
    return {};
  }

  // What differs from the expected codes.
  Result<std::string> evict(const Json& value) {
    if (!value.is_object()) return Error(ErrorCode::Invalid, "evict", "takes pod/name: code");
    for (const JsonMember& member : value.as_object()) {
      const StoryName name = TRY(parse_name(member.key));
      const Json eviction = Json::object({{"metadata", Json::object({{"name", name.name}})}});
      const client::ApiReply reply = world_.call(
          {client::Verb::Create, ref_of(name), name.ns, name.name, "eviction", to_string(eviction)});
      if (Json(reply.code) != member.value)
        return member.key + ": the eviction is answered with " + std::to_string(reply.code) + " " +
               reply.message + ", expected " + to_string(member.value);
    }
    return std::string();
  }

  Status settle(const Json& value) {
    const Duration time = TRY(parse_duration(value.is_string() ? value.as_string() : ""));
    const Time end = world_.now() + time;
    world_.advance(time);
    if (!std::exchange(deadly_, false)) return {};
    if (!world_.killed()) return Error(ErrorCode::Invalid, "settle", "ended before the deciders were killed");
    world_.restart_deciders();
    world_.advance(end - world_.now());
    return {};
  }

  Status kill(const Json& value) {
    const std::int64_t nth = value.is_object() ? value.int_at("at") : 0;
    if (nth < 1) return Error(ErrorCode::Invalid, "kill", "takes {at: 1 or more, of: a resource}");
    world_.kill_at_write(static_cast<std::uint64_t>(nth), std::string(value.string_at("of")));
    deadly_ = true;
    return {};
  }

  // "extended:web" is the claim for the extended resources of pod web, by the pod's status.
  StoryName resolved(StoryName name) {
    constexpr std::string_view kExtended = "extended:";
    if (!name.name.starts_with(kExtended)) return name;
    const Json pod = world_.read(api::ref_of(api::Kind::Pod), name.ns, name.name.substr(kExtended.size()));
    name.name = pod.part("status").part("extendedResourceClaimStatus").string_at("resourceClaimName");
    return name;
  }

  Result<std::string> expect(const Json& expected) {
    if (!expected.is_object()) return Error(ErrorCode::Invalid, "expect", "takes kind/name: {word: value}");
    for (const JsonMember& member : expected.as_object()) {
      const StoryName name = resolved(TRY(parse_name(member.key)));
      const Json object = world_.read(ref_of(name), name.ns, name.name);
      const bool should_be_gone = member.value.is_string() && member.value.as_string() == "gone";
      if (should_be_gone && object.is_null()) continue;
      if (should_be_gone) return member.key + " still exists: " + to_string(object);
      if (object.is_null()) return member.key + " does not exist";
      if (std::string failure = differs(member.key, object, member.value); !failure.empty()) return failure;
    }
    return std::string();
  }

  // "pod/metadata.labels.app=low": 57. The objects of the kind whose path has the value, without those that
  // are being deleted.
  Result<std::string> count(const Json& expected) {
    if (!expected.is_object()) return Error(ErrorCode::Invalid, "count", "takes kind/path=value: number");
    for (const JsonMember& member : expected.as_object()) {
      const std::size_t equals = member.key.find('=');
      if (equals == std::string::npos)
        return Error(ErrorCode::Invalid, member.key, "write kind/path=value, such as pod/spec.nodeName=n1");
      const StoryName asked = TRY(parse_name(member.key.substr(0, equals)));
      const Json wanted = member.key.substr(equals + 1);
      std::int64_t found = 0;
      for (const Json& object : world_.read_all(ref_of(asked))) {
        const Json* value = value_at(object, asked.name);
        if (value && *value == wanted && !object.part("metadata").find("deletionTimestamp")) ++found;
      }
      if (Json(found) != member.value)
        return member.key + ": there are " + std::to_string(found) + ", expected " + to_string(member.value);
    }
    return std::string();
  }

  std::string differs(const std::string& name, const Json& object, const Json& expected) {
    if (!expected.is_object()) return name + ": an expectation is {word: value}";
    for (const JsonMember& member : expected.as_object()) {
      const bool short_word = is_one_of(kShortWords, member.key);
      const Json* found = short_word ? nullptr : value_at(object, member.key);
      const Json got = short_word ? Json(word_of(world_, object, member.key)) : found ? *found : Json();
      const bool contained = is_one_of(kContainingWords, member.key) && member.value.is_string() &&
                             got.as_string().find(member.value.as_string()) != std::string::npos;
      const bool any =
          member.value.is_string() && member.value.as_string() == "*" && !got.is_null() && got != Json("");
      if (contained || any || got == member.value) continue;
      return name + ": " + member.key + " is " + to_string(got) + ", expected " + to_string(member.value);
    }
    return "";
  }

  World& world_;
  const std::string given_directory_;
  bool deadly_ = false;  // a kill was requested
};

}  // namespace

std::string failed_scheduling_event(World& world, const Json& object) {
  const Json& meta = object.part("metadata");
  std::uint64_t latest = 0;
  std::string message;
  for (const Json& event : world.read_all({"", "v1", "events"})) {
    if (event.string_at("reason") != "FailedScheduling" ||
        event.part("involvedObject").string_at("uid") != meta.string_at("uid"))
      continue;
    const std::uint64_t written = api::decode_meta(event).resource_version;
    if (written <= latest) continue;
    latest = written;
    message = event.string_at("message");
  }
  return message;
}

Status give(World& world, const std::string& path) {
  const std::string text = TRY(read_text_file(path, kStoryBytesMax));
  const std::vector<api::YamlDocument> documents = TRY(api::parse_yaml_documents(text, path));
  for (const api::YamlDocument& document : documents)
    if (Status created = create(world, document.value); !created) return created.error().under(path);
  return {};
}

Result<StoryResult> run_story(const std::string& file, const std::string& given_directory,
                              const std::function<void(World&)>& at_end) {
  const std::string text = TRY(read_text_file(file, kStoryBytesMax));
  const std::vector<api::YamlDocument> documents = TRY(api::parse_yaml_documents(text, file));
  if (documents.size() != 1) return Error(ErrorCode::Invalid, file, "a story is one YAML document");
  const Json& story = documents.front().value;
  StoryResult result;
  result.name = story.string_at("story");
  if (result.name.empty())
    return Error(ErrorCode::Invalid, file, "a story has a line `story:` that names it");
  WorldOptions options;
  options.seed = static_cast<std::uint64_t>(story.int_at("seed", 1));
  options.feature_gates = story.string_at("gates");
  options.decider_gates = story.string_at("deciderGates");
  options.gpu_reservation_pods = story.string_at("gpuReservations") == "Pods";
  if (const Json* strategy = story.find("scoringStrategy"))
    options.resources_fit = TRY(story_strategy(*strategy));
  if (const Json* scoring = story.find("victimScoring")) {
    const auto known = placement::victim_scoring_of(scoring->is_string() ? scoring->as_string() : "");
    if (!known) return Error(ErrorCode::Invalid, file, "victimScoring is Reference or LeastLostWork");
    options.victim_scoring = *known;
  }
  if (const Json* moves = story.find("defragmentation"))
    options.defragmentation = TRY(story_defragmentation(*moves));
  const std::unique_ptr<World> world = TRY(World::make(options));
  Runner runner(*world, given_directory);
  if (Status given = runner.give(story); !given) return given.error();
  world->advance(Duration::seconds(2));
  std::size_t number = 0;
  for (const Json& step : story.items_at("steps")) {
    ++number;
    const std::string place = file + ": step " + std::to_string(number);
    Result<std::string> failure = runner.step(step);
    if (!failure) return failure.error().under(place);
    if (failure->empty()) continue;
    result.failure = place + ": " + *failure;
    return result;
  }
  if (at_end) at_end(*world);
  return result;
}

}  // namespace berth::sim
