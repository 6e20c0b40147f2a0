// Patches of documents: JSON patch, merge patch and strategic merge patch, as the API server applies them.
//
// A result is not canonical yet: decode it (decode.h), which also finds its strict errors.
// Server-side apply (PatchType::Apply) is the room apply's: it needs managed fields. Errors:
// ErrorCode::Unsupported is 400 (malformed patch), TooLarge 413, Invalid 422, Internal 500; the messages are
// the reference's. Pure, any thread. Cost: linear in document and patch; lists with merge keys quadratic.
// Source: RFC 6902, RFC 7386, apimachinery's strategicpatch; observed responses of kube-apiserver 1.37.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/type_table.h"
#include "base/json.h"
#include "base/result.h"

namespace berth::api {

inline constexpr std::size_t kJsonPatchOperationsMax = 10'000;
// By which a JSON patch may make a document larger, itself and its copies together: a patch of few lines must
// not make a giant. Source: JSONPatchMaxCopyBytes of k8s.io/apiserver.
inline constexpr std::size_t kPatchGrowthBytesMax = 3u << 20;

enum class PatchType { Json, Merge, StrategicMerge, Apply };
// By media type without parameters; nothing for any other.
std::optional<PatchType> patch_type_of(std::string_view media_type);

// The cause of the error of a patch whose `test` operation failed.
inline constexpr std::string_view kPatchTestFailed = "a test failed";

// RFC 6902 with the reference's leniencies: replacing an absent member adds it, what is before a path's
// first slash is ignored, negative indexes count from the end.
Result<Json> apply_json_patch(const Json& document, std::string_view patch);
Result<Json> apply_merge_patch(Json document, std::string_view patch);
// Directives: $patch, $setElementOrder, $deleteFromPrimitiveList, $retainKeys. New elements are inserted
// first.
Result<Json> apply_strategic_merge_patch(const TypeInfo& type, Json document, std::string_view patch);

// The same for patches that are already parsed.
Json merge_patched(Json document, const Json& patch);
Result<Json> strategic_merge_patched(const TypeInfo& type, Json document, Json patch);

// A patched document as the reference quotes it: objects that the patch reached into have sorted members.
Json with_patched_order(Json document, PatchType type, std::string_view patch);
// Go's %v of a document: "map[a:1 b:[x y]]". Some messages quote a patch in this form.
std::string go_value_text(const Json& value);

}  // namespace berth::api
