// An API server in memory for tests of deciders: objects, versions, preconditions, finalizers, grace,
// watches, faults.
//
// One thread. Nothing happens by itself: requests and watch changes wait until the test delivers them, in any
// order. Knows no schema: status, scale and finalize subresources, bindings, merge and JSON patches, deletes,
// nothing else.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "client/api_client.h"

namespace berth::engine::testing {

enum class InjectedFault {
  None,
  NotSent,
  LostDone,     // carried out, the response is lost
  LostNotDone,  // not carried out, the response is lost
  Throttled,    // 429
  ServerError,  // 500
  Conflict,     // 409, not carried out
  Refused,      // 422, not carried out
};

class FakeApi final : public client::ApiClient {
 public:
  explicit FakeApi(const Clock& clock) : clock_(clock) {}

  void submit(client::ApiRequest request, std::function<void(client::ApiReply)> done) override;
  std::unique_ptr<client::Subscription> list_and_watch(api::ResourceRef resource,
                                                       client::WatchReceiver& receiver) override;

  // A change by another client: stored at once, watched later. `object` is JSON text or a value; uid and
  // version are set when absent.
  void put(const api::ResourceRef& resource, Json object);
  void put(api::Kind kind, std::string_view object);
  void change(api::Kind kind, const std::string& ns, const std::string& name, std::string_view merge_patch);
  void remove(const api::ResourceRef& resource, const std::string& ns, const std::string& name);
  // Null when absent.
  const Json* find(const api::ResourceRef& resource, const std::string& ns, const std::string& name) const;
  const Json* find(api::Kind kind, const std::string& ns, const std::string& name) const;
  std::vector<const Json*> all(const api::ResourceRef& resource) const;

  // Carries out the n-th waiting request and delivers the response. False without such a request.
  bool answer(std::size_t n = 0);
  // The same in two steps: the response is delivered later, so that a watch can be ahead of it.
  bool carry_out_only(std::size_t n = 0);
  bool release(std::size_t n = 0);
  std::size_t answers_held() const { return held_.size(); }
  std::size_t requests_waiting() const { return requests_.size(); }
  // The n-th request that waits to be carried out, oldest first.
  const client::ApiRequest& waiting(std::size_t n) const { return requests_.at(n).request; }
  // The object names of the requests that wait to be carried out, oldest first.
  std::vector<std::string> waiting_names() const;
  // Delivers what one watch has waiting (the first list included), in one batch. False when nothing waited.
  bool deliver(std::size_t watch);
  // The same of the resource's watches.
  bool deliver(const api::ResourceRef& resource);
  // The same of every watch, in order.
  bool deliver_all();
  // Answers the n-th watch's list with 404; it lists again at the next deliver().
  void refuse_as_not_served(std::size_t watch);
  std::size_t watches() const { return watches_.size(); }
  // Drops everything that waits on watches of the resource and lists again.
  void relist(const api::ResourceRef& resource);

  // Called once per request; none when empty.
  std::function<InjectedFault(const client::ApiRequest&)> fault;
  // Called after each write that was carried out.
  std::function<void(const client::ApiRequest&)> on_accepted;
  // "create v1/pods d/a", with "/status" for a subresource; in order of arrival at the server.
  std::vector<std::string> log;
  // All requests received, bodies included.
  std::vector<client::ApiRequest> arrived;

 private:
  struct Name {
    std::string ns, name;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  using Objects = std::map<Name, Json>;
  struct Watch;
  class Handle;
  struct Request {
    client::ApiRequest request;
    std::function<void(client::ApiReply)> done;
  };

  client::ApiReply carry_out(const client::ApiRequest& request);
  client::ApiReply dispatch(const client::ApiRequest& request);
  client::ApiReply create(const client::ApiRequest& request);
  client::ApiReply write(const client::ApiRequest& request, Json& stored);
  client::ApiReply bind(const client::ApiRequest& request, Json& stored);
  client::ApiReply erase(const client::ApiRequest& request, Json& stored);
  client::ApiReply store(const api::ResourceRef& resource, Json& stored, Json next);
  void erase_now(const api::ResourceRef& resource, const Name& name);
  void publish(const api::ResourceRef& resource, client::ChangeKind kind, const Json& object);
  void list(Watch& watch) const;

  const Clock& clock_;
  std::map<api::ResourceRef, Objects> objects_;
  std::uint64_t version_ = 100;
  std::uint64_t uids_ = 0;
  std::deque<Request> requests_;
  std::deque<std::function<void()>> held_;  // responses
  std::vector<std::shared_ptr<Watch>> watches_;
};

}  // namespace berth::engine::testing
