#include "engine/mailbox.h"

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

std::vector<Message> Mailbox::drain() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->messages, {});
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
