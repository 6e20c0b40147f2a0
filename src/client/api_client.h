// The seam to an API server: embedded (in process), real (HTTPS) or simulated, all behind one asynchronous
// interface.
//
// Callbacks and receivers may be called on any thread, also inline; they must only hand over.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/kinds.h"

namespace berth::client {

enum class Verb {
  Create,
  Update,      // PUT
  MergePatch,  // RFC 7396
  StrategicPatch,
  JsonPatch,
  Delete,
  Get,
};

// The subresource whose answers are a Scale, not the object of this name.
inline constexpr std::string_view kScaleSubresource = "scale";

// Says whether a request may still leave this process. Asked on the sending thread, as late as possible.
class SendPermit {
 public:
  virtual ~SendPermit() = default;
  virtual bool granted() const = 0;
};

// What a request about a BindRequest says to a client that keeps BindRequests (binding/memory_requests.h): a
// value where other requests have a text.
struct MemoryWrite {
  api::BindRequestPtr wanted;  // Create: all of it; Update: the half that `subresource` names; Delete: null
  std::string uid;             // of the one that was seen; empty: any
  std::uint64_t version = 0;   // the same; 0: any
};

// One request about one object. `body` is JSON; a Create without metadata.name uses generateName.
struct ApiRequest {
  Verb verb = Verb::Get;
  api::ResourceRef resource;
  std::string ns;
  std::string name;  // of the URL; a Create has it for the record (and for a subresource such as binding)
  std::string subresource;  // "status", "binding", "finalize"; empty for the object itself
  std::string body;         // Delete: DeleteOptions or empty
  std::optional<MemoryWrite> in_memory = std::nullopt;  // instead of `body`
  // Null: always. A request whose permit is not granted when it would leave is NotSent.
  std::shared_ptr<const SendPermit> permit = nullptr;
};

// How far a request got. `Lost`: it may or may not have been carried out; read before trying again.
enum class Delivery { Answered, NotSent, Lost };

struct ApiReply {
  Delivery delivery = Delivery::Answered;
  int code = 0;         // HTTP status
  std::string reason;   // of the Status: "Conflict", "NotFound", …; empty on success
  std::string message;  // for a person
  int retry_after_s = 0;
  api::RawPtr object;                  // the answered object; null when the answer was a Status
  api::BindRequestPtr kept = nullptr;  // instead of `object`: one that this process keeps

  bool ok() const { return delivery == Delivery::Answered && code >= 200 && code < 300; }
};

enum class ChangeKind { Added, Modified, Deleted };

struct RawChange {
  ChangeKind kind = ChangeKind::Added;
  api::RawPtr object;                  // Deleted: the last known state, with the version of the deletion
  Json document = {};                  // the same, parsed; null where nobody had to parse it
  api::BindRequestPtr kept = nullptr;  // instead of `object`: one that this process keeps
};

// The complete state of a resource: an object that is not in it does not exist any more.
struct RawList {
  std::vector<api::RawPtr> objects;
  std::uint64_t resource_version = 0;
  std::vector<api::BindRequestPtr> kept = {};  // in this process, besides
};

// Receives a list and then every change. The client lists again by itself when the history that it needs is
// gone.
class WatchReceiver {
 public:
  virtual ~WatchReceiver() = default;
  virtual void on_list(RawList list) = 0;
  virtual void on_changes(std::vector<RawChange> changes) = 0;
  // The server does not serve the resource (yet), so there are no objects. The client keeps asking.
  virtual void on_not_served() { on_list({}); }
  // The stream broke and will be resumed; for logs and metrics.
  virtual void on_trouble(std::string text) = 0;
  // The server answered a list or watch ("list", "watch") with an error. The client asks again.
  virtual void on_refused(std::string_view request, const ApiReply& reply) {
    on_trouble(std::string(request) + ": " + std::to_string(reply.code) + " " + reply.reason + ": " +
               reply.message);
  }
};

// Ends the watch when destroyed; the receiver is not called after that.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

class ApiClient {
 public:
  virtual ~ApiClient() = default;
  virtual void submit(ApiRequest request, std::function<void(ApiReply)> done) = 0;
  // Whether submit() would send nothing for this request alone: it takes no place among writes in flight.
  virtual bool holds([[maybe_unused]] const ApiRequest& request) const { return false; }
  // Called after requests were submitted. A client that batches them sends now what need not wait for more,
  // and says when it must be called again at the latest; none: after the next submit().
  virtual std::optional<Time> flush([[maybe_unused]] Time now) { return std::nullopt; }
  virtual std::unique_ptr<Subscription> list_and_watch(api::ResourceRef resource,
                                                       WatchReceiver& receiver) = 0;
};

}  // namespace berth::client
