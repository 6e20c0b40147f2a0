#include "binding/memory_requests.h"

#include "binding/memory_request_table.h"

namespace berth::binding {
namespace {

bool is_bind_requests(const api::ResourceRef& resource) {
  const api::ResourceRef own = api::ref_of(api::Kind::BindRequest);
  return resource.group == own.group && resource.resource == own.resource;
}

}  // namespace

// Merges the API server's watch with the kept requests, for one receiver.
class MemoryRequests::Watch final : public client::Subscription, public client::WatchReceiver {
 public:
  Watch(std::shared_ptr<Table> table, client::WatchReceiver& receiver)
      : table_(std::move(table)), receiver_(receiver) {
    table_->subscribe(receiver_);
  }
  ~Watch() override {
    table_->unsubscribe(receiver_);
    inner_.reset();
  }
  void begin(client::ApiClient& inner, api::ResourceRef resource) {
    inner_ = inner.list_and_watch(std::move(resource), *this);
  }

  void on_list(client::RawList list) override { table_->pass_list(receiver_, std::move(list)); }
  void on_changes(std::vector<client::RawChange> changes) override {
    table_->pass_changes(receiver_, std::move(changes));
  }
  void on_not_served() override { receiver_.on_not_served(); }
  void on_trouble(std::string text) override { receiver_.on_trouble(std::move(text)); }

 private:
  const std::shared_ptr<Table> table_;
  client::WatchReceiver& receiver_;
  std::unique_ptr<client::Subscription> inner_;
};

MemoryRequests::MemoryRequests(client::ApiClient& inner)
    : inner_(inner), table_(std::make_shared<Table>(inner)) {}
MemoryRequests::~MemoryRequests() = default;

void MemoryRequests::submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) {
  if (is_bind_requests(request.resource) && table_->answer(request, done)) return;
  inner_.submit(request.in_memory ? object_create(*request.in_memory->wanted) : std::move(request),
                std::move(done));
}

bool MemoryRequests::holds(const client::ApiRequest& request) const {
  return is_bind_requests(request.resource) && table_->holds(request);
}

void MemoryRequests::lead(client::Leadership leadership) {
  table_->lead(std::move(leadership));
}

std::optional<Time> MemoryRequests::flush(Time now) {
  return table_->flush(now);
}

std::unique_ptr<client::Subscription> MemoryRequests::list_and_watch(api::ResourceRef resource,
                                                                     client::WatchReceiver& receiver) {
  if (!is_bind_requests(resource)) return inner_.list_and_watch(std::move(resource), receiver);
  auto watch = std::make_unique<Watch>(table_, receiver);
  watch->begin(inner_, std::move(resource));
  return watch;
}

std::size_t MemoryRequests::kept() const {
  return table_->size();
}

}  // namespace berth::binding
