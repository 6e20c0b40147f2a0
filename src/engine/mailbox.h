// Messages to an engine from other threads: decoded watch events and responses to its writes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "client/decider.h"

namespace berth::engine {

// One change, decoded once for every engine of the process.
struct TypedChange {
  client::ChangeKind kind = client::ChangeKind::Added;
  api::ObjectKey key;
  api::TypedObject object;
};

// Objects of a list that an engine enters into its view while the next ones are decoded.
inline constexpr std::size_t kListPartObjects = 512;

enum class BatchKind {
  ListPart,  // of a list, whose end follows
  List,      // its end: with the parts before, the complete state of the resource
  Changes,   // changes since the previous message
};

struct TypedBatch {
  BatchKind kind = BatchKind::Changes;
  api::Kind of = api::Kind::Other;
  api::ResourceRef resource;  // for Kind::Other; empty otherwise
  std::uint64_t resource_version = 0;
  std::vector<TypedChange> changes;
};
using BatchPtr = std::shared_ptr<const TypedBatch>;

enum class RequestPurpose { Write, Refresh, Event };

// The response to one request. `flight` and `part` are the sender's.
struct ClientAnswer {
  RequestPurpose purpose = RequestPurpose::Write;
  std::uint64_t flight = 0;
  std::uint32_t part = 0;
  client::ApiReply reply;
  std::optional<api::TypedObject> object;  // reply.object, when the view has objects of its kind
};

// A change outside the API that a reconciler reads.
struct Signal {
  std::string reconciler;  // its name
  api::ObjectKey about;
};

enum class Leading {
  No,  // follows the watches, decides nothing
  Yes,
};

// A term begins or ends. Lists that arrive after it were requested after it.
struct TermChange {
  Leading leading = Leading::Yes;
  client::Leadership leadership;
};

using Message = std::variant<BatchPtr, ClientAnswer, Signal, TermChange>;

// Thread-safe, in order of arrival. Bounded by its senders: one message a request in flight, one a watch
// delivery, one each kListPartObjects of a list, one an unread signal, one a term.
class Mailbox {
 public:
  Mailbox();
  ~Mailbox();

  void push(Message message);
  // Moves all messages behind those of `into`, oldest first; the memory of an empty `into` is used again.
  void drain(std::vector<Message>& into);
  bool empty() const;
  // Called, on the sender's thread, when a message arrives in an empty mailbox.
  void on_message(std::function<void()> notify);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::engine
