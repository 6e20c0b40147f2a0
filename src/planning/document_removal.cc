#include "planning/document_removal.h"

#include <algorithm>
#include <set>

namespace berth::planning {
namespace {

using api::Kind;

std::string reference(std::string_view kind, std::string_view ns, std::string_view name) {
  return std::string(kind).append("/").append(ns).append("/").append(name);
}

// What is known to be gone, and which objects go with it.
class Removal {
 public:
  void add(const Document& document) {
    const Json& metadata = document.object.part("metadata");
    const std::string_view name = metadata.string_at("name"), uid = metadata.string_at("uid");
    if (uid.empty())
      names_.insert(reference(document.object.string_at("kind"), metadata.string_at("namespace"), name));
    else
      uids_.insert(std::string(uid));
    if (document.kind == Kind::Node) nodes_.insert(std::string(name));
    if (document.kind == Kind::Namespace) namespaces_.insert(std::string(name));
  }

  bool takes(const Document& document) const {
    const Json& metadata = document.object.part("metadata");
    const std::string_view ns = metadata.string_at("namespace");
    if (namespaces_.contains(ns)) return true;
    for (const Json& owner : metadata.items_at("ownerReferences"))
      if (uids_.contains(owner.string_at("uid")) ||
          names_.contains(reference(owner.string_at("kind"), ns, owner.string_at("name"))) ||
          names_.contains(reference(owner.string_at("kind"), "", owner.string_at("name"))))
        return true;
    return nodes_.contains(node_of(document));
  }

  // Of a claim: those of its consumers that are gone are taken out.
  void take_consumers(Json& claim) const {
    if (claim.part("status").items_at("reservedFor").empty()) return;
    Json& status = claim["status"];
    JsonArray& consumers = status["reservedFor"].as_array();
    std::erase_if(consumers, [this](const Json& one) { return uids_.contains(one.string_at("uid")); });
    if (!consumers.empty()) return;
    status.as_object().erase("reservedFor");
    status.as_object().erase("allocation");
  }

 private:
  // Without which the object is nothing; empty: there is none.
  static std::string_view node_of(const Document& document) {
    if (document.kind == Kind::CSINode) return document.object.part("metadata").string_at("name");
    const bool on_node = document.kind == Kind::Pod || document.kind == Kind::ResourceSlice;
    return on_node ? document.object.part("spec").string_at("nodeName") : "";
  }

  std::set<std::string, std::less<>> uids_, names_, nodes_, namespaces_;
};

}  // namespace

void remove_objects(std::vector<Document>& documents, const std::function<bool(const Document&)>& removed) {
  Removal removal;
  const auto take = [&](const auto& goes) {
    for (const Document& document : documents)
      if (goes(document)) removal.add(document);
    return std::erase_if(documents, goes) > 0;
  };
  bool more = take(removed);
  while (more) more = take([&](const Document& document) { return removal.takes(document); });
  for (Document& document : documents)
    if (document.kind == Kind::ResourceClaim) removal.take_consumers(document.object);
}

}  // namespace berth::planning
