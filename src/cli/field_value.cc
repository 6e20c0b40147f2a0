#include "cli/field_value.h"

#include <algorithm>
#include <charconv>

#include "api/canonical.h"
#include "api/names.h"
#include "base/overloaded.h"
#include "cli/listen_address.h"
#include "plane/controller_names.h"
#include "server/webhook_endpoint.h"

namespace berth::cli {
namespace {

Error refused(std::string message) {
  return Error(ErrorCode::Invalid, std::move(message));
}

std::string in_quotes(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string shown(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_object()) return "a map";
  if (value.is_array()) return "a list";
  return to_string(value);
}

// "1m30s", without the zero units of Go's text.
std::string short_duration(Duration duration) {
  std::string text = api::duration_text(duration);
  for (const std::string_view zero : {"m0s", "h0m"})
    if (text.size() > zero.size() && text.ends_with(zero)) text.resize(text.size() - 2);
  return text;
}

Status check_text(TextRule rule, const std::string& text) {
  if (text.size() > kTextBytesMax)
    return refused("is longer than " + std::to_string(kTextBytesMax) + " bytes");
  if (text.find('\0') != std::string::npos) return refused("holds a zero byte");
  if (rule == TextRule::ListenOrNone && text.empty()) return {};
  if (rule == TextRule::Listen || rule == TextRule::ListenOrNone) {
    const Result<ListenAddress> address = parse_listen(text);
    return address ? Status() : Status(refused(address.error().message()));
  }
  if (rule == TextRule::WebhookService) {
    const Result<server::WebhookServices> read = server::WebhookServices::parse({text});
    return read ? Status() : Status(refused(read.error().message()));
  }
  if (rule == TextRule::Controller) {
    if (plane::is_controller_name(text)) return {};
    std::string names = "*";
    for (const std::string_view name : plane::controller_names()) names.append(", ").append(name);
    return refused(in_quotes(text) + " is none of " + names + ", nor one of them after '-'");
  }
  if (rule == TextRule::Path || (rule == TextRule::Host && is_ip_address(text))) return {};
  const api::NameProblems problems =
      rule == TextRule::Label ? api::dns_label_problems(text) : api::dns_subdomain_problems(text);
  if (!problems.empty()) return refused(in_quotes(text) + " is no name: " + problems.front());
  return {};
}

Status set(const TextField& field, const std::string& text, Configuration& configuration) {
  if (Status checked = check_text(field.rule, text); !checked) return checked;
  configuration.*field.member = text;
  return {};
}

Status set(const ChoiceField& field, const std::string& word, Configuration& configuration) {
  if (std::find(field.words.begin(), field.words.end(), word) == field.words.end()) {
    std::string words;
    for (const std::string_view known : field.words) words.append(words.empty() ? "" : ", ").append(known);
    return refused(in_quotes(word) + " is none of " + words);
  }
  configuration.*field.member = word;
  return {};
}

Status set(const CountField& field, std::int64_t count, Configuration& configuration) {
  if (count < field.min || count > field.max)
    return refused(std::to_string(count) + " is out of bounds: " + std::to_string(field.min) + " to " +
                   std::to_string(field.max));
  configuration.*field.member = count;
  return {};
}

Status set(const DurationField& field, const std::string& text, Configuration& configuration) {
  const Result<Duration> duration = parse_duration(text);
  if (!duration) return refused(in_quotes(text) + " is no duration such as 90s or 1h30m");
  if (*duration < field.min || *duration > field.max)
    return refused(text + " is out of bounds: " + short_duration(field.min) + " to " +
                   short_duration(field.max));
  configuration.*field.member = *duration;
  return {};
}

Status set(const ListField& field, const std::vector<std::string>& texts, Configuration& configuration) {
  if (texts.size() < field.min || texts.size() > field.max)
    return refused(std::to_string(texts.size()) + " entries are out of bounds: " + std::to_string(field.min) +
                   " to " + std::to_string(field.max));
  for (const std::string& text : texts) {
    if (text.empty()) return refused("an entry is empty");
    if (std::count(texts.begin(), texts.end(), text) > 1) return refused(in_quotes(text) + " is there twice");
    if (Status checked = check_text(field.rule, text); !checked) return checked;
  }
  configuration.*field.member = texts;
  return {};
}

std::vector<std::string> split_at_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (std::string_view text : texts)
    for (std::size_t end = 0; end != std::string_view::npos;
         text.remove_prefix(std::min(text.size(), end + 1))) {
      end = text.find(',');
      parts.emplace_back(text.substr(0, end));
    }
  return parts;
}

// The gates are validated together, once file and flags are known.
void add_gates(const GatesField& field, const std::string& text, Configuration& configuration) {
  std::string& all = configuration.*field.member;
  all.append(all.empty() || text.empty() ? "" : ",").append(text);
}

Status set_gates(const GatesField& field, const Json& value, Configuration& configuration) {
  if (!value.is_object()) return refused("wants a map of gates, such as {A: true}, not " + shown(value));
  for (const JsonMember& gate : value.as_object()) {
    if (!gate.value.is_bool()) return refused("\"" + gate.key + "\" takes true or false");
    if (gate.key.find_first_of(",=") != std::string::npos)
      return refused("\"" + gate.key + "\" is no feature gate");
    add_gates(field, gate.key + (gate.value.as_bool() ? "=true" : "=false"), configuration);
  }
  return {};
}

Status set_list(const ListField& field, const Json& value, Configuration& configuration) {
  if (!value.is_array()) return refused("wants a list, not " + shown(value));
  std::vector<std::string> texts;
  for (const Json& item : value.as_array()) {
    if (!item.is_string()) return refused("wants a list of texts, not of " + shown(item));
    texts.push_back(item.as_string());
  }
  return set(field, texts, configuration);
}

}  // namespace

Status set_from_flag(const ConfigurationField& field, const std::vector<std::string>& texts,
                     Configuration& configuration) {
  const std::string& text = texts.back();
  const auto count = [&](const CountField& type) -> Status {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return refused(in_quotes(text) + " is no whole number");
    return set(type, number, configuration);
  };
  const auto toggle = [&](const SwitchField& type) -> Status {
    if (!text.empty() && text != "true" && text != "false")
      return refused(in_quotes(text) + " is neither true nor false");
    configuration.*type.member = text != "false";
    return {};
  };
  // Only lists of controllers have commas, as kube-controller-manager has them.
  const auto list = [&](const ListField& type) {
    return set(type, type.rule == TextRule::Controller ? split_at_commas(texts) : texts, configuration);
  };
  const auto gates = [&](const GatesField& type) -> Status {
    for (const std::string& one : texts) add_gates(type, one, configuration);
    return {};
  };
  return std::visit(Overloaded{[&](const TextField& type) { return set(type, text, configuration); },
                               [&](const ChoiceField& type) { return set(type, text, configuration); },
                               [&](const DurationField& type) { return set(type, text, configuration); },
                               list, count, toggle, gates},
                    field.type);
}

Status set_from_json(const ConfigurationField& field, const Json& value, Configuration& configuration) {
  if (value.is_null()) return refused("has no value: write one, or leave the line out");
  const auto text = [&](const auto& type, std::string_view wanted) -> Status {
    if (!value.is_string()) return refused("wants " + std::string(wanted) + ", not " + shown(value));
    return set(type, value.as_string(), configuration);
  };
  const auto count = [&](const CountField& type) -> Status {
    if (!value.is_int()) return refused("wants a whole number, not " + shown(value));
    return set(type, value.as_int(), configuration);
  };
  const auto toggle = [&](const SwitchField& type) -> Status {
    if (!value.is_bool()) return refused("wants true or false, not " + shown(value));
    configuration.*type.member = value.as_bool();
    return {};
  };
  return std::visit(
      Overloaded{[&](const TextField& type) { return text(type, "a text"); },
                 [&](const ChoiceField& type) { return text(type, "a word"); },
                 [&](const DurationField& type) { return text(type, "a duration such as 90s or 1h30m"); },
                 [&](const ListField& type) { return set_list(type, value, configuration); },
                 [&](const GatesField& type) { return set_gates(type, value, configuration); }, count,
                 toggle},
      field.type);
}

Json value_of(const ConfigurationField& field, Component component, const Configuration& configuration) {
  const auto plain = [&](const auto& type) -> Json { return configuration.*type.member; };
  const auto list = [&](const ListField& type) -> Json {
    Json texts = Json::array();
    for (const std::string& text : configuration.*type.member) texts.as_array().emplace_back(text);
    return texts;
  };
  const auto gates = [&](const GatesField&) -> Json {
    const api::Gates all = gates_of(component, configuration);
    Json map = Json::object();
    for (const api::GateInfo& gate : api::gate_table()) map[gate.name] = all.enabled(gate.name);
    return map;
  };
  return std::visit(Overloaded{[&](const TextField& type) { return plain(type); },
                               [&](const ChoiceField& type) { return plain(type); },
                               [&](const SwitchField& type) { return plain(type); },
                               [&](const CountField& type) { return plain(type); },
                               [&](const DurationField& type) -> Json {
                                 return short_duration(configuration.*type.member);
                               },
                               list, gates},
                    field.type);
}

std::string_view type_name(const ConfigurationField& field) {
  return std::visit(Overloaded{[](const TextField& type) -> std::string_view {
                                 if (type.rule == TextRule::Path) return "PATH";
                                 return type.rule == TextRule::Listen ? "ADDR:PORT" : "NAME";
                               },
                               [](const ChoiceField&) -> std::string_view { return "WORD"; },
                               [](const SwitchField&) -> std::string_view { return ""; },
                               [](const CountField&) -> std::string_view { return "COUNT"; },
                               [](const DurationField&) -> std::string_view { return "DURATION"; },
                               [](const ListField& type) -> std::string_view {
                                 if (type.rule == TextRule::WebhookService) return "NS/NAME=URL";
                                 return type.rule == TextRule::Path ? "PATH" : "NAME";
                               },
                               [](const GatesField&) -> std::string_view { return "GATES"; }},
                    field.type);
}

std::string bounds_text(const ConfigurationField& field) {
  const auto range = [](const auto& low, const auto& high) { return low + " to " + high; };
  const auto words = [](const ChoiceField& type) {
    std::string all;
    for (const std::string_view word : type.words) all.append(all.empty() ? "" : ", ").append(word);
    return all;
  };
  return std::visit(
      Overloaded{
          [](const TextField&) { return std::string(); }, words,
          [](const SwitchField&) { return std::string("true, false"); },
          [&](const CountField& type) { return range(std::to_string(type.min), std::to_string(type.max)); },
          [&](const DurationField& type) {
            return range(short_duration(type.min), short_duration(type.max));
          },
          [&](const ListField& type) {
            return range(std::to_string(type.min), std::to_string(type.max)) + " entries";
          },
          [](const GatesField&) { return std::string(); }},
      field.type);
}

std::string default_text(const ConfigurationField& field, Component component) {
  if (std::holds_alternative<GatesField>(field.type)) return "";
  const Json value = value_of(field, component, default_configuration(component));
  if (value.is_string()) return value.as_string();
  if (!value.is_array()) return to_string(value);
  std::string all;
  for (const Json& item : value.as_array()) all.append(all.empty() ? "" : ", ").append(item.as_string());
  return all;
}

}  // namespace berth::cli
