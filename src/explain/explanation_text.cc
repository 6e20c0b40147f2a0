#include <algorithm>
#include <array>

#include "base/count_text.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "explain/explanation.h"

namespace berth::explain {
namespace {

constexpr std::size_t kLineColumns = 100;
constexpr std::size_t kMembersShownMax = 64;  // of a table; wide shows all
constexpr std::size_t kExamplesShownMax = 3;

using Cells = std::vector<std::string>;

// Appends to one text, with or without colours.
class Page {
 public:
  explicit Page(Colour colour) : colour_(colour) {}

  std::string take() { return std::move(text_); }
  void line(const std::string& text) { text_ += text + "\n"; }
  void heading(const std::string& text) { text_ += "\n" + strong(text) + "\n"; }
  std::string strong(const std::string& text) const {
    return colour_ == Colour::Yes ? "\033[1m" + text + "\033[0m" : text;
  }
  std::string tinted(const std::string& text, bool good) const {
    if (colour_ == Colour::No) return text;
    return (good ? "\033[32m" : "\033[33m") + text + "\033[0m";
  }

  // Indented, in lines of at most kLineColumns where word boundaries allow it.
  void wrapped(std::string_view text, std::size_t indent) {
    const std::size_t room = kLineColumns - indent;
    while (!text.empty()) {
      std::size_t end = text.size();
      if (end > room) {
        end = text.rfind(' ', room);
        if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
      }
      text_.append(indent, ' ').append(text.substr(0, end)).append("\n");
      text.remove_prefix(std::min(text.size(), end + 1));
    }
  }

  // Columns as wide as necessary; the first row is the header.
  void table(const std::vector<Cells>& rows) {
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (const Cells& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    for (const Cells& row : rows) {
      std::string text = "  ";
      for (std::size_t i = 0; i < row.size(); ++i)
        text.append(row[i]).append(widths[i] - row[i].size() + 3, ' ');
      text.erase(text.find_last_not_of(' ') + 1);
      line(text);
    }
  }

 private:
  Colour colour_;
  std::string text_;
};

std::string text_at(const Json& json, std::string_view key) {
  return std::string(json.string_at(key));
}

std::string or_dash(std::string text) {
  return text.empty() ? "-" : text;
}

// "17:20:01.123" of "2026-11-21T17:20:01.123456Z"; whole seconds without decimals.
std::string clock_of(std::string_view time) {
  if (time.size() < 20) return std::string(time);
  const bool whole = time.size() < 27 || time.substr(20, 6) == "000000";
  return std::string(time.substr(11, whole ? 8 : 12));
}

void add_decision(Page& page, const Json& decision, std::string_view of_member, const Json& first_refused) {
  std::string head = text_at(decision, "id") + " at " + text_at(decision, "time");
  if (const std::int64_t attempts = decision.int_at("attempts"); attempts > 1)
    head += ", attempt " + std::to_string(attempts);
  page.heading("DECISION  " + text_at(decision, "result"));
  if (!decision.string_at("time").empty()) page.line("  " + head);
  if (const std::string sentence = text_at(decision, "sentence"); !sentence.empty()) {
    page.line("  In Kubernetes' words:");
    page.wrapped(sentence, 4);
  }
  if (const std::string own = text_at(decision, "explanation"); !own.empty()) {
    page.line("  In words:");
    page.wrapped(own, 4);
  }
  if (!of_member.empty()) {
    page.line("  Of this member:");
    page.wrapped(of_member, 4);
  }
  if (!first_refused.is_null()) {
    page.line("  Of the first member that found no node, " + text_at(first_refused, "pod") + ":");
    page.wrapped(text_at(first_refused, "explanation"), 4);
  }
}

std::string examples_of(const Json& row) {
  std::string names;
  for (const Json& example : row.items_at("examples"))
    names.append(names.empty() ? "" : ", ").append(example.string_at("node"));
  const auto shown = static_cast<std::int64_t>(row.items_at("examples").size());
  if (row.int_at("nodes") > shown) names += " and " + std::to_string(row.int_at("nodes") - shown) + " more";
  return names;
}

void add_refused(Page& page, const JsonArray& refused, bool of_group) {
  page.heading(of_group ? "NODES REFUSED to the first member that found none" : "NODES REFUSED");
  std::vector<Cells> rows = {{"PLUGIN", "NODES", "REASON", "EXAMPLES"}};
  for (const Json& row : refused)
    rows.push_back({or_dash(text_at(row, "plugin")), std::to_string(row.int_at("nodes")),
                    text_at(row, "reason"), examples_of(row)});
  page.table(rows);
  std::size_t proofs = 0;
  for (const Json& row : refused)
    for (const Json& example : row.items_at("examples")) {
      if (text_at(example, "why").empty() || proofs == kExamplesShownMax) continue;
      if (proofs++ == 0) page.line("  Missing there:");
      page.wrapped(text_at(example, "node") + ": " + text_at(example, "why"), 4);
    }
}

void add_health(Page& page, const Json& device) {
  const std::string name = text_at(device, "device");
  if (const std::string message = text_at(device, "healthMessage"); !message.empty())
    page.wrapped(name + " is " + text_at(device, "health") + ": " + message, 2);
  for (const Json& taint : device.items_at("taints")) {
    std::string line = name + " is tainted " + text_at(taint, "key") + ":" + text_at(taint, "effect") +
                       " by DeviceTaintRule " + text_at(taint, "rule");
    if (const std::string cause = text_at(taint, "cause"); !cause.empty()) line += " (" + cause + ")";
    page.wrapped(line, 2);
  }
}

void add_devices(Page& page, const JsonArray& devices, Detail detail) {
  page.heading("DEVICES");
  const bool wide = detail == Detail::Wide;
  const bool told = std::any_of(devices.begin(), devices.end(),
                                [](const Json& device) { return !device.string_at("health").empty(); });
  std::vector<Cells> rows = {{"CLAIM", "REQUEST", "DRIVER", "POOL", "DEVICE"}};
  if (told) rows.front().push_back("HEALTH");
  if (wide) rows.front().insert(rows.front().end(), {"SHARE", "CONSUMES"});
  for (const Json& device : devices) {
    rows.push_back({text_at(device, "claim"), text_at(device, "request"), text_at(device, "driver"),
                    text_at(device, "pool"), text_at(device, "device")});
    if (told) rows.back().push_back(or_dash(text_at(device, "health")));
    if (!wide) continue;
    const Json* consumed = device.find("consumedCapacity");
    rows.back().push_back(or_dash(text_at(device, "shareID")));
    rows.back().push_back(consumed ? to_string(*consumed) : "-");
  }
  page.table(rows);
  for (const Json& device : devices) add_health(page, device);
}

void add_gpu_share(Page& page, const Json& share) {
  page.heading("GPU SHARE");
  std::string groups;
  for (const Json& group : share.items_at("groups"))
    groups.append(groups.empty() ? "" : ", ").append(group.as_string());
  const std::string asked = text_at(share, "asked");
  page.line("  " + text_at(share, "portion") + " of " + groups +
            (asked.empty() ? "" : " (" + asked + " of each asked for, rounded up to hundredths)"));
}

void add_request(Page& page, const Json& request) {
  page.heading("BIND REQUEST");
  std::string line = "  " + text_at(request, "name") + ": " + text_at(request, "phase");
  if (const std::string step = text_at(request, "step"); !step.empty()) line += ", " + step;
  if (const std::int64_t failed = request.int_at("failedAttempts"))
    line += ", " + std::to_string(failed) + (failed == 1 ? " failed attempt" : " failed attempts");
  page.line(line);
  if (const std::string message = text_at(request, "message"); !message.empty()) page.wrapped(message, 4);
}

void add_steps(Page& page, const JsonArray& steps) {
  page.heading("STEPS");
  std::vector<Cells> rows = {{"STEP", "AT (UTC)", "AFTER"}};
  for (const Json& step : steps)
    rows.push_back({text_at(step, "step"), clock_of(step.string_at("time")), or_dash(text_at(step, "took"))});
  page.table(rows);
}

void add_members(Page& page, const JsonArray& members, Detail detail) {
  page.heading("MEMBERS");
  std::vector<Cells> rows = {{"POD", "STATE", "NODE", "DEVICES"}};
  const std::size_t shown =
      detail == Detail::Wide ? members.size() : std::min(members.size(), kMembersShownMax);
  for (std::size_t i = 0; i < shown; ++i) {
    std::string devices;
    for (const Json& device : members[i].items_at("devices"))
      devices.append(devices.empty() ? "" : ", ").append(device.string_at("device"));
    rows.push_back({text_at(members[i], "name"), text_at(members[i], "state"),
                    or_dash(text_at(members[i], "node")), or_dash(devices)});
  }
  page.table(rows);
  if (shown < members.size())
    page.line("  and " + std::to_string(members.size() - shown) + " more (-o wide shows them)");
  if (detail == Detail::Table) return;
  for (const Json& member : members) {
    const std::string config = text_at(member, "told");
    page.wrapped(text_at(member, "name") + " " + text_at(member, "summary") +
                     (config.empty() ? "" : "; Kubernetes: " + config),
                 2);
  }
}

// "root", "|-- a", "|   `-- b": each group below its parent.
std::vector<std::string> drawn(const JsonArray& groups) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::int64_t level = groups[i].int_at("level");
    std::string name;
    for (std::int64_t above = 1; above <= level; ++above) {
      const auto next = std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(i) + 1, groups.end(),
                                     [&](const Json& later) { return later.int_at("level") <= above; });
      const bool goes_on = next != groups.end() && next->int_at("level") == above;
      if (above == level)
        name += goes_on ? "|-- " : "`-- ";
      else
        name += goes_on ? "|   " : "    ";
    }
    names.push_back(name + text_at(groups[i], "name"));
  }
  return names;
}

const Json* room_of(const Json& explanation, const Json& group) {
  const JsonArray& rooms = explanation.items_at("rooms");
  const auto found = std::find_if(rooms.begin(), rooms.end(), [&](const Json& room) {
    return text_at(room, "name") == text_at(group, "name") && text_at(room, "kind") == text_at(group, "kind");
  });
  return found == rooms.end() ? nullptr : &*found;
}

void add_groups(Page& page, const Json& explanation) {
  const JsonArray& groups = explanation.items_at("groups");
  const bool waits = !explanation.items_at("rooms").empty();
  page.heading("GROUPS");
  std::vector<Cells> rows = {{"GROUP", "MINIMUM", "PODS", "WITH A NODE"}};
  if (waits) rows.front().insert(rows.front().end(), {"WOULD FIT TOGETHER", "IN"});
  const std::vector<std::string> names = drawn(groups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Json& group = groups[i];
    const bool composite = text_at(group, "kind") == "CompositePodGroup";
    const auto count = [&](std::int64_t number) { return count_text(number, composite ? "group" : "pod"); };
    rows.push_back({names[i], count(group.int_at("minimum")),
                    composite ? "" : std::to_string(group.int_at("pods")),
                    composite ? "" : std::to_string(group.int_at("placed"))});
    if (!waits) continue;
    const Json* room = room_of(explanation, group);
    rows.back().push_back(room ? count(room->int_at("fit")) : "-");
    rows.back().push_back(or_dash(room ? text_at(*room, "domain") : ""));
  }
  page.table(rows);
}

std::string listed(const JsonArray& texts, std::string_view separator) {
  std::string text;
  for (const Json& one : texts) text.append(text.empty() ? "" : separator).append(one.as_string());
  return text;
}

void add_nearest(Page& page, const Json& nearest) {
  page.heading("NEAREST MISS");
  page.wrapped(text_at(nearest, "place") + ": " + listed(nearest.items_at("lacks"), "; ") + ".", 2);
}

void add_domains(Page& page, const Json& explanation) {
  const std::int64_t needed = explanation.int_at("needed");
  page.heading("DOMAINS, " + std::to_string(needed) +
               (needed == 1 ? " member is needed" : " members are needed"));
  std::vector<Cells> rows = {{"DOMAIN", "NODES", "MEMBERS THAT FIT", "THE NEXT ONE", "LACKS"}};
  for (const Json& row : explanation.items_at("domains"))
    rows.push_back({text_at(row, "domain"), std::to_string(row.int_at("nodes")),
                    std::to_string(row.int_at("members")), or_dash(text_at(row, "next")),
                    or_dash(listed(row.items_at("lacks"), "; "))});
  page.table(rows);
}

// What was tried and helps, or that nothing of it does.
void add_remedies(Page& page, const Json& explanation) {
  const JsonArray& remedies = explanation.items_at("remedies");
  const Json* all = explanation.find("triedAll");
  const std::string ended = all && !all->as_bool() ? "The search ended early: more may help." : "";
  if (remedies.empty()) {
    page.heading("NOTHING THAT WAS TRIED HELPS");
    std::string text = "Tried: " + listed(explanation.items_at("tried"), "; ");
    if (const std::int64_t near = explanation.int_at("nearNodes"))
      text += "; two changes together on " + (near == 1 ? std::string("the nearest node")
                                                        : "the " + std::to_string(near) + " nearest nodes");
    page.wrapped(text + "." + (ended.empty() ? "" : " ") + ended, 2);
    return;
  }
  page.heading(remedies.size() == 1 ? "IT WOULD FIT AFTER THIS" : "IT WOULD FIT AFTER ONE OF THESE");
  for (const Json& remedy : remedies) page.wrapped("- " + text_at(remedy, "text"), 2);
  if (!ended.empty()) page.wrapped(ended, 2);
}

void add_start_waits(Page& page, const JsonArray& texts) {
  page.heading("A START WAITS FOR");
  for (const Json& text : texts) page.wrapped("- " + std::string(text.as_string()), 2);
}

// "About 14:05:00 UTC, in 25m. 3 pods end until then: default/a (14:05:00) and others."
void add_expected_start(Page& page, const Json& start) {
  page.heading("EXPECTED START");
  if (const std::string unknown = text_at(start, "unknown"); !unknown.empty()) {
    const std::int64_t running = start.int_at("running");
    const std::string known = running == 1
                                  ? std::string("1 running pod has an expected duration")
                                  : std::to_string(running) + " running pods have an expected duration";
    page.wrapped(unknown == "OutOfBudget" ? "Unknown: the search ended early. " + known + "."
                                          : "Unknown: " + known + ", and it does not fit after " +
                                                (running == 1 ? "that end." : "their end."),
                 2);
    return;
  }
  std::string pods;
  for (const Json& one : start.items_at("after"))
    pods += (pods.empty() ? "" : ", ") + text_at(one, "pod") + " (" + clock_of(one.string_at("time")) + ")";
  const std::int64_t ended = start.int_at("ended");
  page.wrapped(
      "About " + clock_of(start.string_at("time")) + " UTC, in " +
          human_age(Duration::seconds(start.int_at("inSeconds"))) + ". " +
          (ended == 1 ? "1 pod ends" : std::to_string(ended) + " pods end") + " until then: " + pods +
          (static_cast<std::size_t>(ended) > start.items_at("after").size() ? " and others" : "") + ".",
      2);
}

// "n1 has 412. That is the most of 4 nodes. n2 comes next with 405."
std::string scores_summary(const Json& scores) {
  const std::string node = text_at(scores, "node"), next = text_at(scores, "runnerUp");
  const std::string refused = text_at(scores, "refused");
  if (!refused.empty()) return node + " would not take the pod today: " + refused + ".";
  const std::int64_t total = scores.int_at("total"), other = scores.int_at("runnerUpTotal");
  const std::string own = node + " has " + std::to_string(total) + ". ";
  if (next.empty()) return own + "No other node takes the pod.";
  const std::string most = "the most of " + std::to_string(scores.int_at("nodes")) + " nodes";
  if (other > total)
    return own + "Today " + next + " has " + std::to_string(other) + ", " + most +
           ": the objects have changed since the decision.";
  if (other == total) return own + next + " has as much. Of equal nodes the first by name wins.";
  return own + "That is " + most + ". " + next + " comes next with " + std::to_string(other) + ".";
}

void add_scores(Page& page, const Json& scores) {
  page.heading("SCORES on the objects as they are now, without this pod");
  page.wrapped(scores_summary(scores), 2);
  const JsonArray& plugins = scores.items_at("plugins");
  if (plugins.empty()) return;
  const std::string next = text_at(scores, "runnerUp");
  std::vector<Cells> rows = {{"PLUGIN", "WEIGHT", text_at(scores, "node"), "x WEIGHT"}};
  if (!next.empty()) rows.front().insert(rows.front().end(), {next, "x WEIGHT"});
  const auto number = [](const Json& row, std::string_view key) { return std::to_string(row.int_at(key)); };
  for (const Json& row : plugins) {
    rows.push_back(
        {text_at(row, "plugin"), number(row, "weight"), number(row, "raw"), number(row, "weighted")});
    if (next.empty()) continue;
    rows.back().push_back(number(row, "runnerUpRaw"));
    rows.back().push_back(number(row, "runnerUpWeighted"));
  }
  rows.push_back({"total", "", "", number(scores, "total")});
  if (!next.empty()) rows.back().insert(rows.back().end(), {"", number(scores, "runnerUpTotal")});
  page.table(rows);
}

// "Wish of PlacementPolicy near: rack, else anywhere. It reached block: 16 pods in b1/r1, …"; of a group in a
// tree `whose` is " for PodGroup decode".
void add_wish(Page& page, const Json& wish, const std::string& whose) {
  const std::string wished = text_at(wish, "wish"), reached = text_at(wish, "reached");
  page.wrapped("Wish of PlacementPolicy " + text_at(wish, "policy") + whose + ": " +
                   (wished.empty() ? "none" : wished) + ". " +
                   (reached.empty() ? "" : "It reached " + reached + ": ") + text_at(wish, "message") +
                   "; score " + to_string(wish.part("score")) + ".",
               2);
}

void add_wishes(Page& page, const Json& explanation) {
  if (const Json* wish = explanation.find("wish")) add_wish(page, *wish, "");
  for (const Json& group : explanation.items_at("groups"))
    if (const Json* wish = group.find("wish"))
      add_wish(page, *wish, " for " + text_at(group, "kind") + " " + text_at(group, "name"));
}

bool has_failed_binding(const Json& row) {
  return !row.part("bindRequest").is_null();
}

// Without `wide` only the binding that failed.
void add_history(Page& page, const JsonArray& history, bool wide) {
  page.heading("EARLIER");
  std::vector<Cells> rows = {{"DECISION", "AT (UTC)", "RESULT", "SAID"}};
  for (const Json& row : history) {
    if (!wide && !has_failed_binding(row)) continue;
    rows.push_back(
        {text_at(row, "id"), clock_of(row.string_at("time")), text_at(row, "result"),
         or_dash(text_at(row, "said").substr(0, cut_offset(row.string_at("said"), kLineColumns)))});
  }
  page.table(rows);
  for (const Json& row : history)
    if (has_failed_binding(row) && row.string_at("said").size() > kLineColumns)
      page.wrapped(text_at(row, "id") + ": " + text_at(row, "said"), 2);
}

}  // namespace

std::string explanation_text(const Json& raw, Detail detail, Colour colour) {
  const Json explanation = printable_lines(raw);
  constexpr std::array<std::string_view, 4> kGood = {"Running", "Succeeded", "Placed", "Bound"};
  Page page(colour);
  const std::string state = text_at(explanation, "state");
  const bool good = std::find(kGood.begin(), kGood.end(), state) != kGood.end();
  page.line(page.strong(text_at(explanation, "kind") + " " + text_at(explanation, "namespace") + "/" +
                        text_at(explanation, "name")) +
            "   " + page.tinted(state, good));
  page.wrapped(text_at(explanation, "summary"), 2);
  if (const std::string made = text_at(explanation, "madeFrom"); !made.empty())
    page.wrapped("Stands for " + made + ".", 2);
  if (const std::string source = text_at(explanation, "groupSource"); !source.empty())
    page.wrapped("It is in the group that its labels or annotations of " + source + " name.", 2);
  add_wishes(page, explanation);
  if (!explanation.items_at("startWaits").empty()) add_start_waits(page, explanation.items_at("startWaits"));
  if (const Json* decision = explanation.find("decision"))
    add_decision(page, *decision, explanation.string_at("member"), explanation.part("firstRefused"));
  const bool of_group =
      explanation.find("group") || explanation.find("members") || explanation.find("groups");
  const auto section = [&](std::string_view key) -> const JsonArray& { return explanation.items_at(key); };
  if (!section("refused").empty()) add_refused(page, section("refused"), of_group);
  if (const Json* nearest = explanation.find("nearestMiss")) add_nearest(page, *nearest);
  if (!section("groups").empty()) add_groups(page, explanation);
  if (!section("domains").empty()) add_domains(page, explanation);
  if (!section("tried").empty()) add_remedies(page, explanation);
  if (const Json* start = explanation.find("expectedStart")) add_expected_start(page, *start);
  if (!section("members").empty()) add_members(page, section("members"), detail);
  if (!section("devices").empty()) add_devices(page, section("devices"), detail);
  if (const Json* scores = explanation.find("scores")) add_scores(page, *scores);
  if (const Json* share = explanation.find("gpuShare")) add_gpu_share(page, *share);
  if (const Json* request = explanation.find("bindRequest")) add_request(page, *request);
  if (!section("steps").empty()) add_steps(page, section("steps"));
  const JsonArray& history = section("history");
  const bool failed = std::any_of(history.begin(), history.end(), has_failed_binding);
  const bool wide = detail == Detail::Wide;
  if ((wide || failed) && !history.empty()) add_history(page, history, wide);
  if (const std::string note = text_at(explanation, "note"); !note.empty()) {
    page.line("");
    page.wrapped(note, 2);
  }
  return page.take();
}

}  // namespace berth::explain
