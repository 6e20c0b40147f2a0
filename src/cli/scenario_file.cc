#include "cli/scenario_file.h"

#include <algorithm>
#include <set>

#include "api/names.h"
#include "api/types/gpu_share.h"
#include "api/types/topology.h"
#include "api/yaml.h"
#include "base/name_list.h"
#include "base/quantity.h"
#include "base/text_file.h"
#include "cli/plan_input.h"
#include "cli/yaml_place.h"

namespace berth::cli {
namespace {

using simulate::Arrival;
using simulate::NodeShape;
using simulate::PodShape;

constexpr std::int64_t kBytesPerMib = std::int64_t{1} << 20;

Error out_of_range(const YamlPlace& place, std::int64_t value, std::int64_t least, std::int64_t most) {
  return place.refused(std::to_string(value) + " is out of range: " + std::to_string(least) + " to " +
                       std::to_string(most));
}

Result<std::int64_t> whole_between(const YamlPlace& place, std::int64_t otherwise, std::int64_t least,
                                   std::int64_t most) {
  const std::int64_t value = TRY(place.whole(otherwise));
  if (value < least || value > most) return out_of_range(place, value, least, most);
  return value;
}

Result<Duration> not_negative(const YamlPlace& place) {
  const Duration duration = TRY(place.duration({}));
  if (duration < Duration()) return place.refused("is negative: a time from the start is needed");
  return duration;
}

// Absent: 0.
Result<Quantity> amount_at(const YamlPlace& place) {
  if (!place.present()) return Quantity();
  if (place.json().is_int() && place.json().as_int() >= 0) return Quantity::of(place.json().as_int());
  const Result<Quantity> read = place.json().is_string() ? parse_quantity(place.json().as_string())
                                                         : Result<Quantity>(place.refused(""));
  if (!read || read->is_negative())
    return place.refused("wants a quantity such as 32, 500m or 64Gi, not " + to_string(place.json()));
  return *read;
}

Result<std::string> required_text(const YamlPlace& place, std::string_view what) {
  std::string text = TRY(place.text(""));
  if (text.empty()) return place.refused("is missing: " + std::string(what) + " is needed");
  return text;
}

Result<std::vector<std::string>> texts_at(const YamlPlace& place) {
  std::vector<std::string> texts;
  for (const YamlPlace& item : TRY(place.items())) texts.push_back(TRY(required_text(item, "a text")));
  return texts;
}

class ScenarioReader {
 public:
  ScenarioReader(const YamlSource& source, const Json& document, const std::string& text,
                 const api::Gates& gates, std::vector<planning::Document> objects)
      : source_(source),
        root_(source, "", &document),
        text_(std::make_shared<const std::string>(text)),
        gates_(gates) {
    scenario_.script.objects = std::move(objects);
  }

  Result<Scenario> read() {
    TRY(root_.has_only({"apiVersion", "kind", "metadata", "spec"}, "a Scenario"));
    TRY(root_.at("metadata").has_only({"name"}, "metadata"));
    const YamlPlace spec = root_.at("spec");
    if (!spec.present()) return spec.refused("is missing: nodes and arrivals belong there");
    TRY(spec.has_only({"nodes", "nodeStatistics", "objects", "arrivals", "generator", "failures", "rackLabel",
                       "restartLost"},
                      "a Scenario's spec"));
    scenario_.script.rack_label = TRY(spec.at("rackLabel").text(""));
    scenario_.script.restarts_lost = TRY(spec.at("restartLost").flag(true));
    TRY(read_nodes(spec));
    for (const YamlPlace& object : TRY(spec.at("objects").items())) TRY(read_object(object));
    TRY(read_generator(spec.at("generator")));
    for (const YamlPlace& series : TRY(spec.at("arrivals").items())) TRY(read_series(series));
    TRY(complete_objects());
    for (const YamlPlace& wish : wishes_) TRY(check_wish(wish));
    for (const YamlPlace& failure : TRY(spec.at("failures").items())) TRY(read_failure(failure));
    std::ranges::stable_sort(scenario_.script.arrivals, {}, &Arrival::at);
    std::ranges::stable_sort(scenario_.script.failures, {}, &simulate::NodeFailure::at);
    return std::move(scenario_);
  }

 private:
  Status read_nodes(const YamlPlace& spec) {
    const std::string statistics = TRY(spec.at("nodeStatistics").text(""));
    if (statistics == "openb")
      scenario_.trace.nodes = simulate::openb_statistics(0).nodes;
    else if (!statistics.empty())
      return spec.at("nodeStatistics").refused("is \"" + statistics + "\": openb is known");
    for (const YamlPlace& pool : TRY(spec.at("nodes").items())) TRY(read_pool(pool));
    for (const simulate::TraceNode& node : scenario_.trace.nodes)
      if (!node_names_.insert(node.name).second)
        return spec.at("nodes").refused("name the node \"" + node.name + "\" twice");
    return {};
  }

  // `count` equal nodes name-0, name-1, …; of `racks`, each has so many of them.
  Status read_pool(const YamlPlace& pool) {
    TRY(pool.has_only({"name", "count", "cpu", "memory", "gpus", "labels", "racks"}, "nodes"));
    const std::string name = TRY(name_at(pool.at("name")));
    const std::int64_t count =
        TRY(whole_between(pool.at("count"), 1, 1, static_cast<std::int64_t>(simulate::kScriptObjectsMax)));
    const std::size_t nodes_then = scenario_.trace.nodes.size() + static_cast<std::size_t>(count);
    if (nodes_then > simulate::kScriptObjectsMax)
      return pool.at("count").refused("brings the nodes to " + std::to_string(nodes_then) + ": at most " +
                                      std::to_string(simulate::kScriptObjectsMax));
    NodeShape shape{TRY(amount_at(pool.at("cpu"))).ceil_millis(),
                    TRY(amount_at(pool.at("memory"))).ceil_units() / kBytesPerMib,
                    TRY(whole_between(pool.at("gpus"), 0, 0, 1024))};
    TRY(read_labels(pool.at("labels"), shape));
    const YamlPlace racks = pool.at("racks");
    TRY(racks.has_only({"label", "nodes"}, "racks"));
    const std::string label =
        racks.present() ? TRY(required_text(racks.at("label"), "a label key")) : std::string();
    const std::int64_t nodes = TRY(whole_between(racks.at("nodes"), 1, 1, INT32_MAX));
    for (std::int64_t i = 0; i < count; ++i) {
      simulate::TraceNode node{name + "-" + std::to_string(i), shape};
      if (!label.empty()) node.shape.labels.emplace_back(label, name + "-rack-" + std::to_string(i / nodes));
      scenario_.trace.nodes.push_back(std::move(node));
    }
    return {};
  }

  Status read_labels(const YamlPlace& labels, NodeShape& shape) const {
    if (!labels.present()) return {};
    if (!labels.json().is_object()) return labels.refused("wants a map of texts");
    for (const JsonMember& member : labels.json().as_object())
      shape.labels.emplace_back(member.key, TRY(labels.at(member.key).text("")));
    return {};
  }

  static Result<std::string> name_at(const YamlPlace& place) {
    std::string name = TRY(required_text(place, "a name"));
    if (const auto problems = api::dns_subdomain_problems(name); !problems.empty())
      return place.refused("\"" + name + "\" is no name of objects: " + problems.front());
    return name;
  }

  Status read_object(const YamlPlace& object) {
    manifests_.push_back(
        {object.json(), nullptr, std::string(source_.file), text_, source_.document, object.path()});
    for_arrival_.push_back(kFromStart);
    return check_manifest(manifests_.back(), gates_);
  }

  Status read_generator(const YamlPlace& generator) {
    if (!generator.present()) return {};
    TRY(generator.has_only(
        {"statistics", "load", "every", "runs", "constrainedPercent", "gangs", "within", "prefers"},
        "a generator"));
    const std::string statistics = TRY(required_text(generator.at("statistics"), "openb"));
    if (statistics != "openb")
      return generator.at("statistics").refused("is \"" + statistics + "\": openb is known");
    const std::int64_t constrained = TRY(whole_between(generator.at("constrainedPercent"), 0, 0, 100));
    scenario_.trace.tasks = simulate::openb_statistics(constrained).tasks;
    simulate::Draw& draw = scenario_.draw.emplace();
    if (const YamlPlace load = generator.at("load"); load.present()) {
      if (!load.json().is_number() || !(load.json().as_double() > 0) ||
          load.json().as_double() > simulate::kDrawLoadMax)
        return load.refused("wants a number above 0 and up to 100: GPU demand as a part of all GPUs");
      draw.load = load.json().as_double();
    }
    if (generator.at("every").present()) draw.every = TRY(not_negative(generator.at("every")));
    if (generator.at("runs").present()) draw.runs = TRY(not_negative(generator.at("runs")));
    if (TRY(generator.at("gangs").flag(false))) draw.gangs = simulate::Gangs::Drawn;
    draw.topology = TRY(read_topology(generator));
    if (scenario_.trace.gpus() == 0)
      return generator.refused("needs nodes with gpus: the load is a part of them");
    return {};
  }

  Result<simulate::GangTopology> read_topology(const YamlPlace& gangs) {
    simulate::GangTopology topology{TRY(gangs.at("within").text("")), TRY(gangs.at("prefers").text(""))};
    if (!topology.prefers.empty()) wishes_.push_back(gangs.at("prefers"));
    return topology;
  }

  // A gang whose PlacementPolicy names an unknown level waits for ever. Without the Topology labels with a
  // prefix are levels.
  Status check_wish(const YamlPlace& prefers) const {
    const std::string level = TRY(prefers.text(""));
    const auto is_default = [](const planning::Document& document) {
      return document.kind == api::Kind::Topology &&
             document.object.part("metadata").string_at("name") == api::kDefaultTopology;
    };
    const auto topology = std::ranges::find_if(scenario_.script.objects, is_default);
    if (topology == scenario_.script.objects.end()) {
      if (level.find('/') != std::string::npos) return {};
      return prefers.refused("is \"" + level +
                             "\": without a Topology \"default\" in the objects a label with a prefix is "
                             "needed, such as example.com/rack");
    }
    std::vector<std::string> levels;
    for (const Json& one : topology->object.part("spec").items_at("levels")) {
      if (one.string_at("name") == level || one.string_at("nodeLabel") == level) return {};
      levels.emplace_back(one.string_at("name"));
    }
    return prefers.refused("is \"" + level + "\": the levels of Topology \"default\" are " +
                           joined_names(levels));
  }

  Result<PodShape> read_shape(const YamlPlace& series) const {
    PodShape shape{TRY(amount_at(series.at("cpu"))).ceil_millis(),
                   TRY(amount_at(series.at("memory"))).ceil_units() / kBytesPerMib,
                   TRY(whole_between(series.at("gpus"), 0, 0, 1024))};
    shape.priority = TRY(whole_between(series.at("priority"), 0, INT32_MIN, INT32_MAX));
    if (const YamlPlace fraction = series.at("gpuFraction"); fraction.present()) {
      const auto hundredths = api::parse_gpu_fraction(TRY(fraction.text("")));
      if (!hundredths || *hundredths < 1 || *hundredths >= api::kWholeGpu)
        return fraction.refused("wants a text from \"0.01\" to \"0.99\"");
      shape.hundredths = *hundredths;
      shape.gpus = std::max<std::int64_t>(1, shape.gpus);
      if (shape.gpus > std::int64_t{api::kGpuFractionDevicesMax})
        return out_of_range(series.at("gpus"), shape.gpus, 1, api::kGpuFractionDevicesMax);
    }
    const YamlPlace selector = series.at("nodes");
    TRY(selector.has_only({"label", "values"}, "nodes"));
    if (!selector.present()) return shape;
    shape.label = TRY(required_text(selector.at("label"), "a label key"));
    shape.values = TRY(texts_at(selector.at("values")));
    if (shape.values.empty()) return selector.at("values").refused("is missing: one value or more is needed");
    return shape;
  }

  // `count` arrivals name-0, name-1, …, each of one pod or of a gang.
  Status read_series(const YamlPlace& series) {
    TRY(series.has_only({"name", "at", "count", "every", "runs", "cpu", "memory", "gpus", "gpuFraction",
                         "priority", "nodes", "gang", "pod"},
                        "arrivals"));
    const std::string name = TRY(name_at(series.at("name")));
    const Duration at = TRY(not_negative(series.at("at")));
    const Duration every = TRY(not_negative(series.at("every")));
    std::optional<Duration> runs;
    if (series.at("runs").present()) runs = TRY(not_negative(series.at("runs")));
    const std::int64_t count = TRY(whole_between(series.at("count"), 1, 1, kScenarioPodsMax));
    const YamlPlace gang = series.at("gang"), pod = series.at("pod");
    TRY(gang.has_only({"pods", "within", "prefers"}, "a gang"));
    const std::int64_t pods = TRY(whole_between(gang.at("pods"), 1, 1, kScenarioPodsMax));
    const simulate::GangTopology topology = TRY(read_topology(gang));
    if ((pods_ += count * pods) > kScenarioPodsMax)
      return series.at("count").refused("brings the pods to " + std::to_string(pods_) + ": at most " +
                                        std::to_string(kScenarioPodsMax));
    const PodShape shape = TRY(read_shape(series));
    if (pod.present())
      for (const std::string_view field :
           {"cpu", "memory", "gpus", "gpuFraction", "priority", "nodes", "gang"})
        if (series.at(field).present())
          return series.at(field).refused("says what pod says already: give one of them");
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string each = count == 1 ? name : name + "-" + std::to_string(i);
      Arrival arrival = pod.present() ? Arrival{} : simulate::equal_pods(each, shape, pods, topology);
      arrival.at = at + every * i;
      arrival.runs = runs;
      if (pod.present()) {
        TRY(read_pod(pod, each));
        arrival.alike = series.path();
      }
      scenario_.script.arrivals.push_back(std::move(arrival));
    }
    return {};
  }

  // A whole Pod, of which the name is the arrival's.
  Status read_pod(const YamlPlace& pod, const std::string& name) {
    TRY(pod.has_only({"metadata", "spec"}, "a pod of arrivals"));
    if (const YamlPlace metadata = pod.at("metadata"); metadata.present() && !metadata.json().is_object())
      return metadata.refused("wants a map of fields");
    Json object = Json::object({{"apiVersion", "v1"}, {"kind", "Pod"}});
    for (const JsonMember& member : pod.json().as_object()) object[member.key] = member.value;
    object["metadata"]["name"] = name;
    manifests_.push_back(
        {std::move(object), nullptr, std::string(source_.file), text_, source_.document, pod.path()});
    for_arrival_.push_back(scenario_.script.arrivals.size());
    return check_manifest(manifests_.back(), gates_);
  }

  // Defaults and validation, as for `berth plan`.
  Status complete_objects() {
    PlanInput input = TRY(plan_input(std::move(manifests_), gates_, Time()));
    scenario_.warnings = std::move(input.warnings);
    for (std::size_t i = 0; i < input.documents.size(); ++i) {
      planning::Document& document = input.documents[i];
      if (for_arrival_[i] == kFromStart)
        scenario_.script.objects.push_back(std::move(document));
      else
        scenario_.script.arrivals[for_arrival_[i]].objects.push_back(std::move(document));
    }
    for (const planning::Document& document : scenario_.script.objects)
      if (document.kind == api::Kind::Node)
        node_names_.emplace(document.object.part("metadata").string_at("name"));
    return {};
  }

  Status read_failure(const YamlPlace& place) {
    TRY(place.has_only({"at", "for", "nodes", "rack"}, "failures"));
    simulate::NodeFailure failure{TRY(not_negative(place.at("at")))};
    if (place.at("for").present()) failure.lasts = TRY(not_negative(place.at("for")));
    failure.nodes = TRY(texts_at(place.at("nodes")));
    if (const YamlPlace rack = place.at("rack"); rack.present()) {
      const std::string value = TRY(required_text(rack, "a rack"));
      for (const simulate::TraceNode& node : scenario_.trace.nodes)
        for (const auto& [key, label] : node.shape.labels)
          if (key == scenario_.script.rack_label && label == value) failure.nodes.push_back(node.name);
      if (failure.nodes.empty())
        return rack.refused("is \"" + value + "\": no node of spec.nodes has this value of spec.rackLabel");
    }
    if (failure.nodes.empty()) return place.at("nodes").refused("is missing: name nodes or a rack");
    for (const std::string& name : failure.nodes)
      if (!node_names_.contains(name))
        return place.at("nodes").refused("names \"" + name + "\", which is no node of the scenario");
    scenario_.script.failures.push_back(std::move(failure));
    return {};
  }

  static constexpr std::size_t kFromStart = static_cast<std::size_t>(-1);

  const YamlSource& source_;
  const YamlPlace root_;
  const std::shared_ptr<const std::string> text_;
  const api::Gates& gates_;
  Scenario scenario_;
  std::set<std::string, std::less<>> node_names_;  // that failures may name
  std::vector<YamlPlace> wishes_;                  // `prefers` of gangs
  std::vector<Manifest> manifests_;
  std::vector<std::size_t> for_arrival_;  // by manifest: its arrival
  std::int64_t pods_ = 0;
};

}  // namespace

Result<Scenario> read_scenario(const std::string& file, const api::Gates& gates,
                               std::vector<planning::Document> objects) {
  const std::string text = TRY(read_text_file(file, kScenarioBytesMax));
  const std::vector<api::YamlDocument> documents = TRY(api::parse_yaml_documents(text, file));
  if (documents.size() != 1)
    return Error(ErrorCode::Invalid, file,
                 "has " + std::to_string(documents.size()) + " documents: one Scenario is needed");
  const api::YamlDocument& document = documents.front();
  const YamlSource source{text, file, document.number};
  if (!document.duplicate_keys.empty()) return source.refused("", document.duplicate_keys.front());
  if (document.value.string_at("apiVersion") != kScenarioVersion)
    return source.refused("apiVersion", "is \"" + std::string(document.value.string_at("apiVersion")) +
                                            "\": " + std::string(kScenarioVersion) + " is known");
  if (document.value.string_at("kind") != kScenarioKind)
    return source.refused(
        "kind", "is \"" + std::string(document.value.string_at("kind")) + "\": a Scenario is needed");
  return ScenarioReader(source, document.value, text, gates, std::move(objects)).read();
}

Result<simulate::Script> script_of(const Scenario& scenario, std::uint64_t seed) {
  simulate::Script script = scenario.script;
  simulate::add_nodes(scenario.trace, script);
  if (!scenario.draw) return script;
  simulate::Draw draw = *scenario.draw;
  draw.seed = seed;
  TRY(simulate::add_drawn_arrivals(scenario.trace, draw, script));
  std::ranges::stable_sort(script.arrivals, {}, &simulate::Arrival::at);
  return script;
}

}  // namespace berth::cli
