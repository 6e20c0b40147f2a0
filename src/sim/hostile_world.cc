#include "sim/hostile_world.h"

#include <algorithm>
#include <deque>

#include "api/served_kinds.h"
#include "base/executor.h"
#include "dra/cel_check.h"
#include "server/in_process_client.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

constexpr std::size_t kDocumentsKeptBytes = 4 * 1024 * 1024;
constexpr std::size_t kDecodedBytesMax = 4 * 1024 * 1024;  // of all processes

}  // namespace

struct HostileWorld::Parts {
  Parts(const HostileWorldOptions& options, api::Gates enabled)
      : gates(std::move(enabled)),
        random(options.seed),
        store(memory_store()),
        history(*store),
        server({*store, executor, clock, random, gates, dra::check_cel},
               {.recent_documents_bytes = kDocumentsKeptBytes}),
        berth(server::make_in_process_client(server, "system:berth")),
        user(server::make_in_process_client(server, "kubernetes-admin")),
        shared{events, *store, history, *berth, options.seed} {
    const Status made = server.make_default_objects();
    BERTH_ASSERT(made.ok(), "an empty store takes the default namespaces");
    server.set_ready(true);
  }

  const api::Gates gates;
  EventQueue events{kWorldStart};
  WorldClock clock{events};
  SeededRandom random;
  InlineExecutor executor;
  std::unique_ptr<store::Store> store;
  WriteHistory history;
  server::ApiServer server;
  std::unique_ptr<client::ApiClient> berth;
  std::unique_ptr<client::ApiClient> user;
  SharedNetwork shared;
  // Processes share decoded objects: decoding depends on the bytes alone.
  std::shared_ptr<api::DecodedVersions> decoded = std::make_shared<api::DecodedVersions>(kDecodedBytesMax);
  std::shared_ptr<api::DecodedVersions> decoded_for_binding =
      std::make_shared<api::DecodedVersions>(kDecodedBytesMax, api::Texts::OfWhatBindingReads);
  std::deque<ProcessNetwork> networks;  // stable addresses
  std::vector<std::unique_ptr<Process>> processes;
};

Result<std::unique_ptr<HostileWorld>> HostileWorld::make(const HostileWorldOptions& options) {
  api::Gates gates = TRY(api::Gates::parse(api::GateDefaults::Up, options.feature_gates));
  return std::unique_ptr<HostileWorld>(new HostileWorld(std::make_unique<Parts>(options, std::move(gates))));
}

HostileWorld::HostileWorld(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HostileWorld::~HostileWorld() = default;

Process& HostileWorld::add(ProcessOptions options) {
  const bool all_texts = plane::texts_read_by(options.parts) == api::Texts::OfAllKinds;
  options.parts.decoded = all_texts ? parts_->decoded : parts_->decoded_for_binding;
  parts_->networks.push_back(ProcessNetwork{parts_->shared, options.name});
  parts_->processes.push_back(
      std::make_unique<Process>(parts_->networks.back(), parts_->gates, std::move(options)));
  return *parts_->processes.back();
}

const std::vector<std::unique_ptr<Process>>& HostileWorld::processes() const {
  return parts_->processes;
}

Process* HostileWorld::find(std::string_view name) {
  for (const auto& process : parts_->processes)
    if (process->name() == name) return process.get();
  return nullptr;
}

void HostileWorld::run_until(Time end) {
  EventQueue& events = parts_->events;
  for (;;) {
    std::size_t steps = 0;
    for (bool busy = true; busy;) {
      busy = false;
      for (; events.run_due(); busy = true)
        BERTH_ASSERT(++steps < kStepsPerMomentMax, "a moment comes to an end");
      for (const auto& process : parts_->processes) busy |= process->step();
      BERTH_ASSERT(++steps < kStepsPerMomentMax, "a moment comes to an end");
    }
    std::optional<Time> next = events.next();
    for (const auto& process : parts_->processes)
      if (const std::optional<Time> wake = process->next_wake(); wake && (!next || *wake < *next))
        next = wake;
    if (!next || *next > end) break;
    events.advance_to(*next);
  }
  events.advance_to(end);
}

Time HostileWorld::now() const {
  return parts_->events.now();
}
EventQueue& HostileWorld::events() {
  return parts_->events;
}
SharedNetwork& HostileWorld::network() {
  return parts_->shared;
}
WriteHistory& HostileWorld::history() {
  return parts_->history;
}

client::ApiReply HostileWorld::call(client::ApiRequest request) {
  client::ApiReply answered;
  parts_->user->submit(std::move(request), [&](client::ApiReply reply) { answered = std::move(reply); });
  return answered;
}

client::ApiReply HostileWorld::create(const Json& object) {
  const api::ResourceInfo* resource =
      api::find_resource_of_kind(object.string_at("apiVersion"), object.string_at("kind"));
  BERTH_ASSERT(resource, "storms create what is served");
  const std::string_view ns = object.part("metadata").string_at("namespace");
  client::ApiRequest request;
  request.verb = client::Verb::Create;
  request.resource = {std::string(resource->group), std::string(resource->version),
                      std::string(resource->plural)};
  if (resource->namespaced) request.ns = ns.empty() ? "default" : ns;
  request.body = to_string(object);
  return call(std::move(request));
}

Json HostileWorld::read(api::Kind kind, const std::string& ns, const std::string& name) {
  const client::ApiReply reply = call({client::Verb::Get, api::ref_of(kind), ns, name, "", ""});
  if (!reply.ok() || !reply.object) return Json();
  return parse_json(*reply.object).value_or(Json());
}

std::vector<store::ObjectPtr> HostileWorld::stored(api::Kind kind) {
  const api::ResourceRef ref = api::ref_of(kind);
  store::ListQuery query;
  query.resource = api::storage_resource(*api::find_resource(ref.group, ref.version, ref.resource));
  const Result<store::ListPage> page = parts_->store->list(query);
  BERTH_ASSERT(page.ok(), "the newest state can always be listed");
  return page->objects;
}

Json HostileWorld::document_of(const store::ObjectPtr& object) {
  return parts_->decoded->document_of(api::RawPtr(object, &object->bytes));
}

std::string HostileWorld::text() {
  std::string text;
  for (const api::ResourceInfo& resource : api::resources()) {
    store::ListQuery query;
    query.resource = api::storage_resource(resource);
    const Result<store::ListPage> page = parts_->store->list(query);
    if (!page) continue;
    for (const store::ObjectPtr& object : page->objects) text.append(object->bytes).append("\n");
  }
  return text;
}

}  // namespace berth::sim
