#include "scheduling/input_log.h"

namespace berth::scheduling {

std::vector<std::string> replay(const std::vector<Input>& inputs, client::StatefulDecider& decider) {
  client::View view;
  std::vector<std::string> answers;
  for (const Input& input : inputs) {
    switch (input.kind) {
      case InputKind::Apply:
        if (input.delta.after) {
          view.put(input.delta.key, *input.delta.after);
        } else if (input.delta.before) {
          view.erase(input.delta.key, api::meta_of(*input.delta.before).resource_version);
        }
        decider.apply(view, input.delta, input.now);
        break;
      case InputKind::Decide:
        answers.push_back(client::to_text(decider.decide(view, input.now)));
        break;
      case InputKind::Settle:
        decider.on_outcome(view, input.outcome, input.now);
        break;
    }
  }
  return answers;
}

}  // namespace berth::scheduling
