#include <algorithm>

#include "api/canonical.h"
#include "base/count_text.h"
#include "base/name_list.h"
#include "simulate/questions.h"

namespace berth::simulate {
namespace {

constexpr std::size_t kNodesNamedMax = 4;

Json count(std::size_t number) {
  return static_cast<std::int64_t>(number);
}

// As `berth plan` has them.
Json decisions_of(const planning::Plan& plan) {
  return planning::to_json(plan, planning::Verdicts::None).part("decisions");
}

std::string table_of(const planning::Plan& plan) {
  return plan.decisions.empty() ? "" : "\n" + planning::to_table(plan, planning::Verdicts::None);
}

// "waits", "wait"
std::string verb(std::size_t number, const std::string& plural) {
  return number == 1 ? plural + "s" : plural;
}

// "2 Node, 1 ResourceSlice"
std::string counted_kinds(const std::map<std::string, std::size_t>& kinds) {
  std::string text;
  for (const auto& [kind, number] : kinds)
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + kind;
  return text.empty() ? "nothing" : text;
}

}  // namespace

void put_json(const FailAnswer& answer, Json& json) {
  Json pods = Json::array();
  for (const LostPod& pod : answer.pods)
    pods.as_array().push_back(Json::object(
        {{"namespace", pod.key.ns}, {"name", pod.key.name}, {"node", pod.node}, {"returns", pod.returns}}));
  json["fail"] = Json::object({{"nodes", api::to_json(answer.nodes)},
                               {"pods", Json::object({{"lost", count(answer.pods.size())},
                                                      {"placed", count(answer.placed)},
                                                      {"waiting", count(answer.waiting)},
                                                      {"gone", count(answer.gone)},
                                                      {"evicted", count(answer.evicted)}})},
                               {"lost", std::move(pods)},
                               {"decisions", decisions_of(answer.plan)}});
}

std::string to_table(const FailAnswer& answer) {
  std::string text = "Without " + first_names(answer.nodes, kNodesNamedMax) + ": " +
                     count_text(answer.pods.size(), "pod") + (answer.pods.size() == 1 ? " is" : " are") +
                     " lost";
  if (!answer.pods.empty())
    text += "; " + std::to_string(answer.placed) + " " + verb(answer.placed, "find") + " room again, " +
            std::to_string(answer.waiting) + " " + verb(answer.waiting, "wait");
  if (answer.gone > 0)
    text += ", " + std::to_string(answer.gone) +
            (answer.gone == 1 ? " goes with its node" : " go with their nodes");
  if (answer.evicted > 0)
    text +=
        "; " + count_text(answer.evicted, "other pod") + (answer.evicted == 1 ? " is" : " are") + " evicted";
  return text + ".\n" + table_of(answer.plan);
}

void put_json(const AddAnswer& answer, Json& json) {
  Json objects = Json::object();
  for (const auto& [kind, number] : answer.objects) objects[kind] = count(number);
  json["add"] = Json::object({{"objects", std::move(objects)},
                              {"pods", Json::object({{"waited", count(answer.waited)},
                                                     {"placed", count(answer.placed)},
                                                     {"added", count(answer.added)},
                                                     {"addedPlaced", count(answer.added_placed)}})},
                              {"decisions", decisions_of(answer.plan)}});
}

std::string to_table(const AddAnswer& answer) {
  std::string text = "With " + counted_kinds(answer.objects) + " added: ";
  text += answer.waited == 0 ? "no pod waited before"
                             : std::to_string(answer.placed) + " of " + count_text(answer.waited, "pod") +
                                   " that waited " + (answer.placed == 1 ? "is" : "are") + " placed";
  if (answer.added > 0)
    text += ", " + std::to_string(answer.added_placed) + " of " + count_text(answer.added, "added pod");
  return text + ".\n" + table_of(answer.plan);
}

void put_json(const FitAnswer& answer, Json& json) {
  Json nodes = Json::array();
  for (const auto& [node, pods] : answer.nodes)
    nodes.as_array().push_back(Json::object({{"node", node}, {"pods", count(pods)}}));
  json["fit"] = Json::object({{"copies", count(answer.copies)},
                              {"podsPerCopy", count(answer.pods_per_copy)},
                              {"boundReached", answer.bounded},
                              {"nodes", std::move(nodes)},
                              {"next", decisions_of(answer.next)}});
}

std::string to_table(const FitAnswer& answer) {
  const std::string size = answer.pods_per_copy == 1 ? "" : " of " + count_text(answer.pods_per_copy, "pod");
  const std::string copies =
      std::to_string(answer.copies) + (answer.copies == 1 ? " copy" : " copies") + size;
  const std::string fit = answer.copies == 1 ? " fits" : " fit";
  if (answer.bounded)
    return "At least " + copies + fit + ", on " + count_text(answer.nodes.size(), "node") +
           ": the count ends here.\n";
  if (answer.copies == 0) return "Not one copy" + size + " fits:\n" + table_of(answer.next);
  return copies + fit + ", on " + count_text(answer.nodes.size(), "node") + ". Copy " +
         std::to_string(answer.copies + 1) + " does not fit:\n" + table_of(answer.next);
}

namespace {

std::int64_t seconds(Duration duration) {
  return duration.micros() / 1'000'000;
}

std::string_view kind_name(placement::EntityKind kind) {
  return kind == placement::EntityKind::Pod
             ? "Pod"
             : placement::group_kind(kind == placement::EntityKind::CompositeGroup);
}

std::string_view name_of(StartResult result) {
  constexpr std::string_view kNames[] = {"Starts", "Never", "Unknown", "OutOfBudget"};
  return kNames[static_cast<std::size_t>(result)];
}

// "default/a after 10m0s, default/b after 5m0s and 3 more"
std::string endings(const StartAnswer& answer) {
  std::vector<std::string> names;
  for (const EndedPod& one : answer.after)
    names.push_back(one.key.text() + " after " + api::duration_text(one.at));
  return first_names(names, names.size(), answer.ended);
}

}  // namespace

void put_json(const StartAnswer& answer, Json& json) {
  Json eta = Json::object({{"kind", kind_name(answer.key.kind)},
                           {"namespace", answer.key.ns},
                           {"name", answer.key.name},
                           {"result", name_of(answer.result)},
                           {"arrivesInSeconds", seconds(answer.arrives)}});
  if (answer.result == StartResult::Starts) {
    Json after = Json::array();
    for (const EndedPod& one : answer.after)
      after.as_array().push_back(
          Json::object({{"pod", one.key.text()}, {"node", one.node}, {"inSeconds", seconds(one.at)}}));
    eta["inSeconds"] = seconds(answer.at);
    eta["nodes"] = api::to_json(answer.nodes);
    eta["ended"] = count(answer.ended);
    eta["after"] = std::move(after);
  }
  if (answer.result == StartResult::Unknown) {
    eta["nodes"] = api::to_json(answer.nodes);
    eta["withoutDuration"] = Json::object({{"pods", count(answer.endless)},
                                           {"of", count(answer.on_nodes)},
                                           {"examples", api::to_json(answer.endless_pods)}});
  }
  if (answer.result == StartResult::Never) eta["decisions"] = decisions_of(answer.plan);
  json["eta"] = std::move(eta);
}

std::string to_table(const StartAnswer& answer) {
  const std::string name =
      std::string(kind_name(answer.key.kind)) + " " + answer.key.ns + "/" + answer.key.name;
  const std::string where = " on " + first_names(answer.nodes, kNodesNamedMax);
  switch (answer.result) {
    case StartResult::Starts:
      if (answer.at == Duration()) return name + " starts now" + where + ".\n";
      return name + " starts in " + api::duration_text(answer.at) + where +
             (answer.ended == 0 ? "" : ", when these end: " + endings(answer)) + ".\n";
    case StartResult::Unknown:
      return name + ": unknown. It would start" + where + ", but " + std::to_string(answer.endless) + " of " +
             count_text(answer.on_nodes, "pod") + " that would have to end there " +
             (answer.endless == 1 ? "says" : "say") +
             " no duration: " + first_names(answer.endless_pods, answer.endless_pods.size(), answer.endless) +
             ".\n";
    case StartResult::OutOfBudget:
      return name + ": unknown. The simulation ended after " + std::to_string(kStartQuestionDecisionsMax) +
             " decisions.\n";
    case StartResult::Never:
      return name + " never starts within the simulation, even when all that runs has ended:\n" +
             table_of(answer.plan);
  }
  return "";
}

void put_json(const MinNodesAnswer& answer, Json& json) {
  Json found = Json::object({{"type", answer.type},
                             {"pods", count(answer.pods)},
                             {"possible", answer.possible},
                             {"nodes", answer.possible ? count(answer.nodes) : Json()},
                             {"lowerBound", count(answer.lower_bound)},
                             {"exact", answer.exact()},
                             {"tries", count(answer.tried.size())}});
  if (!answer.possible) {
    found["tried"] = Json::array();
    for (const std::size_t nodes : answer.tried) found["tried"].as_array().push_back(count(nodes));
    found["decisions"] = decisions_of(answer.refused);
  }
  json["minNodes"] = std::move(found);
}

std::string to_table(const MinNodesAnswer& answer) {
  const std::string pods = count_text(answer.pods, "pod");
  if (!answer.possible) {
    std::vector<std::string> tried;
    for (const std::size_t number : answer.tried) tried.push_back(std::to_string(number));
    return "Of the numbers of nodes like " + answer.type + " that were tried none takes all " + pods + ": " +
           joined_names(tried) + ":\n" + table_of(answer.refused);
  }
  const std::string nodes = count_text(answer.nodes, "node") + " like " + answer.type;
  if (answer.pods == 0) return "Nothing waits: no node like " + answer.type + " is needed.\n";
  const std::string text = nodes + (answer.nodes == 1 ? " takes " : " take ") + pods;
  if (answer.exact()) return text + ". Fewer cannot: the requests add up to that.\n";
  return text + ". It is the least that was found in " + std::to_string(answer.tried.size()) +
         " tries; by their sums the requests need " + std::to_string(answer.lower_bound) + " or more.\n";
}

}  // namespace berth::simulate
