#include "install/testing/fake_server.h"

namespace berth::install {
namespace {

client::HttpReply reply_of(int status, const Json& body) {
  client::HttpReply reply;
  reply.status = status;
  reply.body = to_string(body);
  return reply;
}

client::HttpReply refusal_of(int status, std::string_view message) {
  return reply_of(status, Json::object({{"kind", "Status"}, {"message", message}}));
}

bool same_but_version(Json a, Json b) {
  for (Json* object : {&a, &b}) (*object)["metadata"].as_object().erase("resourceVersion");
  return a == b;
}

}  // namespace

ServerCall FakeServer::call() {
  return [this](client::HttpFetch fetch) {
    requests_.push_back(fetch.method + " " + fetch.target);
    bodies_.push_back(fetch.body.empty() ? Json() : parse_json(fetch.body).value());
    client::HttpReply reply = handle(fetch);
    reply.date = date;
    return reply;
  };
}

void FakeServer::put(const std::string& path, Json object) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  objects_[path] = std::move(object);
}

void FakeServer::answer(const std::string& method, const std::string& path, int status, Json body) {
  answers_[method + " " + path] = {status, std::move(body)};
}

void FakeServer::conflict(const std::string& path, std::vector<std::string> fields) {
  conflicts_[path] = std::move(fields);
}

const Json* FakeServer::find(const std::string& path) const {
  const auto found = objects_.find(path);
  return found == objects_.end() ? nullptr : &found->second;
}

client::HttpReply FakeServer::handle(const client::HttpFetch& fetch) {
  if (unreachable) {
    client::HttpReply reply;
    reply.delivery = client::Delivery::NotSent;
    reply.trouble = "connection refused";
    return reply;
  }
  const std::string path = fetch.target.substr(0, fetch.target.find('?'));
  for (const auto& [prefix, answer] : answers_)
    if ((fetch.method + " " + path).starts_with(prefix)) return reply_of(answer.status, answer.body);
  if (fetch.method == "GET") return read(path);
  if (fetch.method == "PATCH") return apply(path, fetch);
  if (fetch.method == "POST") return review(parse_json(fetch.body).value());
  return objects_.erase(path) == 0 ? refusal_of(404, "not found") : reply_of(200, Json::object());
}

client::HttpReply FakeServer::read(const std::string& path) {
  if (const Json* object = find(path)) return reply_of(200, *object);
  Json items = Json::array();
  for (const auto& [key, object] : objects_)
    if (key.starts_with(path + "/")) items.as_array().push_back(object);
  if (items.as_array().empty()) return refusal_of(404, "not found");
  return reply_of(200, Json::object({{"items", std::move(items)}}));
}

client::HttpReply FakeServer::apply(const std::string& path, const client::HttpFetch& fetch) {
  const bool forced = fetch.target.find("force=true") != std::string::npos;
  if (const auto found = conflicts_.find(path); found != conflicts_.end() && !forced) {
    Json causes = Json::array();
    for (const std::string& field : found->second)
      causes.as_array().push_back(Json::object({{"reason", "FieldManagerConflict"}, {"field", field}}));
    return reply_of(409, Json::object({{"message", "conflict"},
                                       {"details", Json::object({{"causes", std::move(causes)}})}}));
  }
  Json object = parse_json(fetch.body).value();
  const Json* before = find(path);
  if (before && same_but_version(*before, object)) return reply_of(200, *before);
  const int status = before ? 200 : 201;
  put(path, std::move(object));
  return reply_of(status, *find(path));
}

client::HttpReply FakeServer::review(Json body) {
  const Json& asked = body.part("spec").part("resourceAttributes");
  std::string what(asked.string_at("verb"));
  what.append(" ").append(asked.string_at("resource"));
  if (const std::string_view sub = asked.string_at("subresource"); !sub.empty()) what.append("/").append(sub);
  body["status"] = Json::object({{"allowed", !denied.contains(what)}});
  return reply_of(201, body);
}

}  // namespace berth::install
