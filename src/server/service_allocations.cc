#include "server/service_allocations.h"

#include <algorithm>

#include "server/registry.h"

namespace berth::server {
namespace {

constexpr std::string_view kHeadless = "None", kServices = "services";

// Whether somebody else than this UID has the entry.
template <class Entries, class Entry>
bool has_other_owner(const Entries& entries, const Entry& entry, std::string_view except_uid) {
  for (auto at = entries.lower_bound({entry, ""}); at != entries.end() && at->first == entry; ++at)
    if (at->second != except_uid) return true;
  return false;
}

}  // namespace

ServiceAllocations::Turn::Turn(server::ServiceAllocations& all) : all_(all), lock_(all.mutex_) {
  all_.refresh();
}

bool ServiceAllocations::Turn::has_address(std::string_view address, std::string_view except_uid) const {
  return has_other_owner(all_.addresses_, std::string(address), except_uid);
}

bool ServiceAllocations::Turn::has_node_port(std::int64_t port, std::string_view except_uid) const {
  return has_other_owner(all_.node_ports_, port, except_uid);
}

std::shared_ptr<const ServiceAllocations::Hold> ServiceAllocations::Turn::hold(const Json& service) {
  return std::make_shared<const Hold>(all_, taken_by(service));
}

ServiceAllocations::Hold::~Hold() {
  const std::lock_guard lock(all_.mutex_);
  all_.remove(taken_);
}

ServiceAllocations::Taken ServiceAllocations::taken_by(const Json& service) {
  Taken taken;
  taken.uid = service.part("metadata").string_at("uid");
  const Json& spec = service.part("spec");
  for (const Json& address : spec.items_at("clusterIPs"))
    if (address.is_string() && address.as_string() != kHeadless) taken.addresses.insert(address.as_string());
  for (const Json& port : spec.items_at("ports")) taken.node_ports.insert(port.int_at("nodePort"));
  taken.node_ports.insert(spec.int_at("healthCheckNodePort"));
  taken.node_ports.erase(0);
  return taken;
}

void ServiceAllocations::add(const Taken& taken) {
  for (const std::string& address : taken.addresses) addresses_.emplace(address, taken.uid);
  for (const std::int64_t port : taken.node_ports) node_ports_.emplace(port, taken.uid);
}

void ServiceAllocations::remove(const Taken& taken) {
  for (const std::string& address : taken.addresses) addresses_.erase(addresses_.find({address, taken.uid}));
  for (const std::int64_t port : taken.node_ports) node_ports_.erase(node_ports_.find({port, taken.uid}));
}

void ServiceAllocations::note(const store::Object& object, bool is_deleted) {
  if (const auto before = stored_.extract(object.key)) remove(before.mapped());
  if (is_deleted) return;
  const Result<Json> document = registry_.document_of(object);
  if (!document) return;
  const Taken& taken = stored_[object.key] = taken_by(*document);
  add(taken);
}

void ServiceAllocations::read_all() {
  for (const auto& [key, taken] : stored_) remove(taken);
  stored_.clear();
  store::ListQuery query;
  query.resource = kServices;
  const std::unique_ptr<store::Cursor> state = registry_.store().open_cursor(query).value();
  while (const store::ObjectPtr object = state->next()) note(*object, false);
  read_to_ = state->revision();
}

void ServiceAllocations::refresh() {
  if (!read_to_) return read_all();
  for (bool more = true; more;) {
    const Result<store::EventPage> page =
        registry_.store().events(kServices, *read_to_, kServiceEventsPerReadMax);
    // More was written than the window keeps.
    if (!page) return read_all();
    for (const store::WatchEventPtr& event : page->events)
      note(*event->object, event->kind == store::WatchEvent::Kind::Deleted);
    read_to_ = std::max(*read_to_, page->through);
    more = page->more;
  }
}

}  // namespace berth::server
