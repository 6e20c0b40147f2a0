#include "placement/wishes/topology_survey.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/name_list.h"
#include "placement/wishes/reached.h"

namespace berth::placement {
namespace {

struct LevelFindings {
  std::set<std::string> paths;
  std::map<std::string, std::set<std::string>> parents;  // of each value
  std::int64_t lacking = 0;                              // nodes without the label
};

class Survey {
 public:
  explicit Survey(std::span<const WishLevel> levels)
      : levels_(levels.begin(), levels.end()), found_(levels.size()) {}

  void add(const LabelledNode& node) {
    ++nodes_;
    bool complete = true;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const auto label = node.labels->find(levels_[i].key);
      const bool has = label != node.labels->end();
      found_[i].lacking += !has;
      complete &= has;
      if (!complete) continue;
      found_[i].paths.insert(domain_path(levels_, i, *node.labels));
      if (i > 0) found_[i].parents[label->second].insert(domain_path(levels_, i - 1, *node.labels));
    }
    if (complete) return;
    if (unlabelled_.size() < kSurveyNamedMax) unlabelled_.emplace_back(node.name);
    ++unlabelled_count_;
  }

  TopologySurvey result() {
    TopologySurvey survey;
    survey.nodes = nodes_;
    survey.unlabelled = unlabelled_count_;
    for (const LevelFindings& level : found_)
      survey.domains.push_back(static_cast<std::int64_t>(level.paths.size()));
    if (nodes_ > 0) {
      tell_unknown(survey);
      tell_unlabelled(survey);
      tell_parents(survey);
    }
    if (survey.valid()) survey.reason = "Valid";
    return survey;
  }

 private:
  static void tell(TopologySurvey& survey, std::string_view reason, const std::string& sentence) {
    if (survey.reason.empty()) survey.reason = reason;
    survey.message.append(survey.message.empty() ? "" : " ").append(sentence).append(".");
  }

  void tell_unknown(TopologySurvey& survey) const {
    for (std::size_t i = 0; i < levels_.size(); ++i)
      if (found_[i].lacking == nodes_)
        tell(survey, "UnknownLabel",
             "No node has the label " + levels_[i].key + " of level " + levels_[i].name);
  }

  void tell_unlabelled(TopologySurvey& survey) const {
    if (unlabelled_count_ == 0 || !survey.reason.empty()) return;
    const std::string names =
        first_names(unlabelled_, unlabelled_.size(), static_cast<std::size_t>(unlabelled_count_));
    tell(survey, "MissingLabels",
         std::to_string(unlabelled_count_) + " of " + std::to_string(nodes_) +
             (nodes_ == 1 ? " node lacks" : " nodes lack") + " a label of some level: " + names);
  }

  void tell_parents(TopologySurvey& survey) const {
    for (std::size_t i = 0; i < levels_.size(); ++i)
      for (const auto& [value, parents] : found_[i].parents) {
        if (parents.size() < 2) continue;
        tell(survey, "TwoParents",
             levels_[i].name + " " + value + " is in " +
                 first_names(std::vector<std::string>(parents.begin(), parents.end()), kSurveyNamedMax) +
                 ": each counts as a domain of its own");
        break;
      }
  }

  const std::vector<WishLevel> levels_;
  std::vector<LevelFindings> found_;
  std::vector<std::string> unlabelled_;  // the first ones
  std::int64_t nodes_ = 0, unlabelled_count_ = 0;
};

}  // namespace

TopologySurvey survey(std::span<const WishLevel> levels, std::span<const LabelledNode> nodes) {
  Survey found(levels);
  for (const LabelledNode& node : nodes) found.add(node);
  return found.result();
}

}  // namespace berth::placement
