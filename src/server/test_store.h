// For tests: a store that passes every call on to another one; what a test changes it overrides.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "store/simulated_disk.h"
#include "store/store.h"

namespace berth::server {

// A base of benches whose store is on a disk: it comes before the store.
struct OneDisk {
  store::SimulatedDisk disk{1};
};

// `inner` outlives it.
class ForwardingStore : public store::Store {
 public:
  explicit ForwardingStore(store::Store& inner) : inner_(inner) {}
  store::Store& inner() const { return inner_; }

  void submit(store::WriteRequest write, std::function<void(store::WriteResult)> done) override {
    inner_.submit(std::move(write), std::move(done));
  }
  Status together(const std::function<Status()>& work) override { return inner_.together(work); }
  store::ObjectPtr get(const store::Key& key) const override { return inner_.get(key); }
  Result<store::ListPage> list(const store::ListQuery& query) const override { return inner_.list(query); }
  Result<std::unique_ptr<store::Cursor>> open_cursor(const store::ListQuery& query) const override {
    return inner_.open_cursor(query);
  }
  Result<store::EventPage> events(std::string_view resource, store::Revision from,
                                  std::size_t limit) const override {
    return inner_.events(resource, from, limit);
  }
  Result<std::unique_ptr<store::WatchHandle>> watch(std::string resource, store::Revision from,
                                                    store::WatchSink& sink) override {
    return inner_.watch(std::move(resource), from, sink);
  }
  Status health() const override { return inner_.health(); }
  store::Revision revision() const override { return inner_.revision(); }
  store::Revision oldest_watchable() const override { return inner_.oldest_watchable(); }
  std::size_t count(std::string_view resource) const override { return inner_.count(resource); }

 private:
  store::Store& inner_;
};

}  // namespace berth::server
