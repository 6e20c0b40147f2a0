// Random documents of a type of the table, valid as JSON of it; no rules of a kind are kept.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "api/type_table.h"
#include "base/json.h"
#include "base/random.h"

namespace berth::api {

// Members are absent, empty or drawn; texts are those that decoders look for.
class DocumentDrawer {
 public:
  explicit DocumentDrawer(std::uint64_t seed) : random_(seed) {}

  // Without managedFields, kind and apiVersion of a top-level kind, and members that protobuf lacks.
  Json document(const TypeInfo& type, std::size_t depth = 0) {
    Json made = Json::object();
    for (const FieldInfo& field : type.fields()) {
      const bool always = depth == 0 || field.json == "spec";
      if (field.proto == 0 || field.json == "managedFields" || (!always && random_.below(3) != 0)) continue;
      if (Json drawn = member(field, depth); !drawn.is_null()) made[field.json] = std::move(drawn);
    }
    return made;
  }

 private:
  Json member(const FieldInfo& field, std::size_t depth) {
    if (field.shape == Shape::One) return value(field, depth);
    if (field.shape == Shape::List) return items(field, depth);
    Json map = Json::object();
    for (std::uint64_t i = random_.below(3); i > 0; --i) {
      Json item = field.shape == Shape::Map ? value(field, depth) : items(field, depth);
      if (!item.is_null()) map["key-" + text()] = std::move(item);
    }
    return map;
  }

  Json items(const FieldInfo& field, std::size_t depth) {
    JsonArray items;
    for (std::uint64_t i = random_.below(3); i > 0; --i)
      if (Json item = value(field, depth); !item.is_null()) items.push_back(std::move(item));
    return items;
  }

  Json value(const FieldInfo& field, std::size_t depth) {
    constexpr std::size_t kDepthMax = 8;
    const bool deep = depth >= kDepthMax;
    switch (field.kind) {
      case ValueKind::String:
        return text();
      case ValueKind::Bool:
        return random_.below(2) == 0;
      case ValueKind::Int32:
      case ValueKind::Int64:
        return static_cast<std::int64_t>(random_.below(100)) - 3;
      case ValueKind::Message:
        return deep ? Json() : document(field.type(), depth + 1);
      case ValueKind::IntOrString:
        return random_.below(2) == 0 ? Json(static_cast<std::int64_t>(random_.below(9000))) : Json(text());
      case ValueKind::RawJson:
      case ValueKind::FieldsV1:
        return *parse_json(R"({"f:a":{},"b":[1,2.5,"\"x\"",{"c":false}],"d":"\n"})");
      case ValueKind::SchemaOrArray:
      case ValueKind::SchemaOrBool:
      case ValueKind::SchemaOrStrings:
        return deep ? Json() : schema_union(field, depth);
      default:
        return scalar(field);
    }
  }

  Json scalar(const FieldInfo& field) {
    switch (field.kind) {
      case ValueKind::Double:
        return random_.below(2) == 0 ? Json(0.5) : Json(3);
      case ValueKind::Bytes:
        return pick({"aGk=", "AP8Q", ""});
      case ValueKind::Quantity:
        return pick({"100m", "1", "2Gi", "500M", "0"});
      case ValueKind::Time:
        return pick({"2026-01-02T03:04:05Z", "1999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"});
      case ValueKind::MicroTime:
        return pick({"2026-01-02T03:04:05.000006Z", "1969-12-31T23:59:59.250000Z"});
      default:
        return pick({"1h0m0s", "1.5s", "0s"});
    }
  }

  Json schema_union(const FieldInfo& field, std::size_t depth) {
    if (random_.below(2) == 0) return document(field.type(), depth + 1);
    if (field.kind == ValueKind::SchemaOrBool) return random_.below(2) == 0;
    if (field.kind == ValueKind::SchemaOrStrings) return Json::array({text(), "b"});
    return Json::array({document(field.type(), depth + 1)});
  }

  Json pick(std::initializer_list<const char*> choices) {
    return *(choices.begin() + random_.below(choices.size()));
  }
  std::string text() {
    return pick({"", "a", "b", "Always", "RestartAllContainers", "All", "Exists", "17", "UDP", "grün",
                 "a \"quoted\"\n\\line"})
        .as_string();
  }

  SeededRandom random_;
};

}  // namespace berth::api
