#include "engine/shared_informers.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/heap_growth.h"
#include "base/known_defects.h"
#include "base/log.h"

namespace berth::engine {
namespace {

constexpr std::size_t kObjectsOfHeapGrowth = 32;  // a pod takes about 3 KB

api::ObjectKey key_of(api::Kind kind, const api::ResourceRef& resource, const api::TypedObject& object) {
  const api::ObjectMeta& meta = api::meta_of(object);
  api::ObjectKey key{kind, meta.ns, meta.name, {}};
  if (kind == api::Kind::Other) key.resource = resource;
  return key;
}

}  // namespace

class SharedInformers::Informer final : public client::WatchReceiver {
 public:
  Informer(api::ResourceRef resource, api::DecodedVersions& decoded)
      : resource_(std::move(resource)),
        kind_(api::kind_of_resource(resource_.group, resource_.resource)),
        decoded_(decoded) {}

  const api::ResourceRef& resource() const { return resource_; }
  void attach(std::shared_ptr<Mailbox> mailbox) {
    if (std::find(mailboxes_.begin(), mailboxes_.end(), mailbox) == mailboxes_.end())
      mailboxes_.push_back(std::move(mailbox));
  }
  void start(client::ApiClient& client) { subscription_ = client.list_and_watch(resource_, *this); }
  void stop() { subscription_.reset(); }

  void on_list(client::RawList list) override {
    listed_ = true;
    auto batch = fresh(BatchKind::List);
    for (api::RawPtr& raw : list.objects) {
      if (batch->changes.size() == kListPartObjects) {
        batch->kind = BatchKind::ListPart;
        send(std::exchange(batch, fresh(BatchKind::List)));
      }
      if (batch->changes.size() % kObjectsOfHeapGrowth == 0) grow_heap();
      add(*batch, {client::ChangeKind::Added, std::move(raw)});
    }
    for (api::BindRequestPtr& kept : list.kept)
      add(*batch, {client::ChangeKind::Added, nullptr, {}, std::move(kept)});
    batch->resource_version = list.resource_version;
    send(std::move(batch));
  }

  void on_changes(std::vector<client::RawChange> changes) override {
    auto batch = fresh(BatchKind::Changes);
    batch->changes.reserve(changes.size());
    for (client::RawChange& change : changes) add(*batch, std::move(change));
    send(std::move(batch));
  }

  // A new watch of a resource that was listed before does not know that objects existed.
  void on_not_served() override {
    auto nothing = fresh(BatchKind::List);
    if (has(KnownDefect::MissingListFreesAll)) nothing->resource_version = UINT64_MAX;
    if (!listed_ || nothing->resource_version > 0) return send(std::move(nothing));
    on_trouble("the API server does not serve what it served before; what is known stays");
  }

  void on_trouble(std::string text) override {
    log(LogLevel::Warning, "a watch broke and will be resumed",
        {{"resource", resource_.resource}, {"cause", std::move(text)}});
  }

 private:
  std::shared_ptr<TypedBatch> fresh(BatchKind kind) const {
    auto batch = std::make_shared<TypedBatch>();
    batch->kind = kind;
    batch->of = kind_;
    if (kind_ == api::Kind::Other) batch->resource = resource_;
    return batch;
  }

  void add(TypedBatch& batch, client::RawChange change) const {
    auto object = change.kept ? Result<api::TypedObject>(std::move(change.kept))
                              : decoded_.decode(kind_, std::move(change.object), change.document);
    if (!object) {
      log(LogLevel::Error, "an object of a watch cannot be read and is left out",
          {{"resource", resource_.resource}, {"cause", object.error().text()}});
      return;
    }
    api::ObjectKey key = key_of(kind_, resource_, *object);
    batch.changes.push_back({change.kind, std::move(key), *std::move(object)});
  }

  void send(BatchPtr batch) const {
    for (const auto& mailbox : mailboxes_) mailbox->push(batch);
  }

  api::ResourceRef resource_;
  api::Kind kind_;
  api::DecodedVersions& decoded_;     // of the SharedInformers
  std::atomic<bool> listed_ = false;  // at least once; set on the client's threads
  std::vector<std::shared_ptr<Mailbox>> mailboxes_;
  std::unique_ptr<client::Subscription> subscription_;
};

SharedInformers::SharedInformers(client::ApiClient& client, std::shared_ptr<api::DecodedVersions> decoded)
    : client_(client), decoded_(decoded ? std::move(decoded) : std::make_shared<api::DecodedVersions>()) {}
SharedInformers::~SharedInformers() {
  stop();
}

void SharedInformers::attach(const api::ResourceRef& resource, std::shared_ptr<Mailbox> mailbox) {
  BERTH_ASSERT(!started_, "engines attach before the hub starts");
  for (const auto& informer : informers_)
    if (informer->resource() == resource) return informer->attach(std::move(mailbox));
  informers_.push_back(std::make_unique<Informer>(resource, *decoded_));
  informers_.back()->attach(std::move(mailbox));
}

void SharedInformers::start() {
  BERTH_ASSERT(!started_, "a hub starts once");
  started_ = true;
  for (const auto& informer : informers_) informer->start(client_);
}

void SharedInformers::relist(const std::function<void()>& between) {
  if (started_)
    for (const auto& informer : informers_) informer->stop();
  between();
  if (started_)
    for (const auto& informer : informers_) informer->start(client_);
}

void SharedInformers::stop() {
  for (const auto& informer : informers_) informer->stop();
}

}  // namespace berth::engine
