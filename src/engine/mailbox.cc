#include "engine/mailbox.h"

#include <iterator>
#include <mutex>
#include <utility>

namespace berth::engine {

struct Mailbox::State {
  std::mutex mutex;
  std::vector<Message> messages;
  std::function<void()> notify;
};

Mailbox::Mailbox() : state_(std::make_unique<State>()) {}
Mailbox::~Mailbox() = default;

void Mailbox::push(Message message) {
  std::function<void()> notify;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->messages.empty()) notify = state_->notify;
    state_->messages.push_back(std::move(message));
  }
  if (notify) notify();
}

void Mailbox::drain(std::vector<Message>& into) {
  const std::lock_guard lock(state_->mutex);
  if (into.empty()) return into.swap(state_->messages);
  into.insert(into.end(), std::make_move_iterator(state_->messages.begin()),
              std::make_move_iterator(state_->messages.end()));
  state_->messages.clear();
}

bool Mailbox::empty() const {
  const std::lock_guard lock(state_->mutex);
  return state_->messages.empty();
}

void Mailbox::on_message(std::function<void()> notify) {
  const std::lock_guard lock(state_->mutex);
  state_->notify = std::move(notify);
}

}  // namespace berth::engine
