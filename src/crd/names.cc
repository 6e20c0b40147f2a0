#include "crd/names.h"

#include <algorithm>

namespace berth::crd {
namespace {

void take_text(std::set<std::string, std::less<>>& names, const Json& accepted, std::string_view member) {
  if (const std::string_view name = accepted.string_at(member); !name.empty()) names.emplace(name);
}

std::string in_use(std::string_view name) {
  return to_string(Json(name)) + " is already in use";
}

// What became of the wanted names.
struct NameVerdict {
  Json accepted;
  std::string reason = "NoConflicts", message = "no conflicts found";
  bool conflict = false;

  void refuse(std::string_view why, std::string text) {
    conflict = true;
    reason = why;
    message = std::move(text);
  }
};

void judge_name(NameVerdict& verdict, const Json& wanted, std::string_view member,
                const std::set<std::string, std::less<>>& taken, std::string_view reason) {
  const std::string_view name = wanted.string_at(member);
  if (name != verdict.accepted.string_at(member) && taken.contains(name))
    return verdict.refuse(reason, in_use(name));
  if (name.empty())
    verdict.accepted.as_object().erase(member);
  else
    verdict.accepted[member] = name;
}

void judge_short_names(NameVerdict& verdict, const Json& wanted, const TakenNames& others) {
  const JsonArray& held = verdict.accepted.items_at("shortNames");
  std::string conflicts;
  std::size_t count = 0;
  for (const Json& name : wanted.items_at("shortNames")) {
    if (!name.is_string() || std::find(held.begin(), held.end(), name) != held.end()) continue;
    if (!others.resources.contains(name.as_string())) continue;
    conflicts += (conflicts.empty() ? "" : ", ") + in_use(name.as_string());
    ++count;
  }
  if (count > 0) return verdict.refuse("ShortNamesConflict", count > 1 ? "[" + conflicts + "]" : conflicts);
  if (const Json* names = wanted.find("shortNames"))
    verdict.accepted["shortNames"] = *names;
  else
    verdict.accepted.as_object().erase("shortNames");
}

// In the order in which the API writes them.
Json in_order(const Json& names) {
  Json ordered = Json::object();
  for (const char* member : {"plural", "singular", "shortNames", "kind", "listKind", "categories"})
    if (const Json* value = names.find(member)) ordered[member] = *value;
  return ordered;
}

}  // namespace

void TakenNames::take(const Json& accepted) {
  for (const char* member : {"plural", "singular"}) take_text(resources, accepted, member);
  for (const Json& name : accepted.items_at("shortNames"))
    if (name.is_string()) resources.insert(name.as_string());
  for (const char* member : {"kind", "listKind"}) take_text(kinds, accepted, member);
}

const Json* condition_of(const Json& crd, std::string_view type) {
  for (const Json& condition : crd.part("status").items_at("conditions"))
    if (condition.string_at("type") == type) return &condition;
  return nullptr;
}

bool is_established(const Json& crd) {
  const Json* condition = condition_of(crd, "Established");
  return condition && condition->string_at("status") == "True";
}

void set_condition(Json& crd, std::string_view type, bool is_true, std::string_view reason,
                   std::string_view message, Time now) {
  Json& list = crd["status"]["conditions"];
  if (!list.is_array()) list = Json::array();
  const std::string_view status = is_true ? "True" : "False";
  for (Json& condition : list.as_array()) {
    if (condition.string_at("type") != type) continue;
    if (condition.string_at("status") != status) condition["lastTransitionTime"] = format_time(now);
    condition["status"] = status;
    condition["reason"] = reason;
    condition["message"] = message;
    return;
  }
  list.as_array().push_back(Json::object({{"type", type},
                                          {"status", status},
                                          {"lastTransitionTime", format_time(now)},
                                          {"reason", reason},
                                          {"message", message}}));
}

Json judged(const Json& crd, const TakenNames& others, Time now) {
  const Json& wanted = crd.part("spec").part("names");
  const Json& held = crd.part("status").part("acceptedNames");
  NameVerdict verdict{held.is_object() ? held : Json::object()};
  judge_name(verdict, wanted, "plural", others.resources, "PluralConflict");
  judge_name(verdict, wanted, "singular", others.resources, "SingularConflict");
  judge_short_names(verdict, wanted, others);
  judge_name(verdict, wanted, "kind", others.kinds, "KindConflict");
  judge_name(verdict, wanted, "listKind", others.kinds, "ListKindConflict");
  if (const Json* categories = wanted.find("categories"))
    verdict.accepted["categories"] = *categories;
  else
    verdict.accepted.as_object().erase("categories");
  Json next = crd;
  if (!next["status"].is_object()) next["status"] = Json::object();
  next["status"]["acceptedNames"] = in_order(verdict.accepted);
  set_condition(next, "NamesAccepted", !verdict.conflict, verdict.reason, verdict.message, now);
  if (is_established(crd)) return next;
  if (verdict.conflict)
    set_condition(next, "Established", false, "NotAccepted", "not all names are accepted", now);
  else
    set_condition(next, "Established", true, "InitialNamesAccepted", "the initial names have been accepted",
                  now);
  return next;
}

}  // namespace berth::crd
