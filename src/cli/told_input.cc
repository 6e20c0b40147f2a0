#include "cli/told_input.h"

#include "cli/complain.h"

namespace berth::cli {
namespace {

// One warning a kind. Kinds whose definition is in the input are known to be custom: they are only counted.
void tell_unserved(const std::vector<UnservedKind>& unserved) {
  std::string counted;
  for (const UnservedKind& kind : unserved) {
    if (kind.defined) {
      counted += (counted.empty() ? "" : ", ") + std::to_string(kind.count) + " " + kind.kind;
      continue;
    }
    tell("warning: " + kind.first_place + ": no kind \"" + kind.kind + "\" is served in version \"" +
         kind.api_version + "\": left out" +
         (kind.count > 1 ? ", and " + std::to_string(kind.count - 1) + " more of this kind" : ""));
  }
  if (!counted.empty()) tell("custom resources left out: " + counted);
}

}  // namespace

Result<std::vector<planning::Document>> told_documents(const std::vector<std::string>& files,
                                                       FolderDepth depth, const api::Gates& gates, Time now) {
  const ManifestFiles sources = TRY(manifest_files(files, depth));
  for (const std::string& note : sources.notes) tell(note);
  ManifestSelection read = TRY(read_served_manifests(sources.files, gates));
  tell_unserved(read.unserved);
  PlanInput input = TRY(plan_input(std::move(read), gates, now));
  for (const std::string& warning : input.warnings) tell("warning: " + warning);
  return std::move(input.documents);
}

}  // namespace berth::cli
