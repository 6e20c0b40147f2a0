// Where the pods of a group with topology keys are, as their decision saw it.
//
// The scheduler writes it into the BindRequest, the binder with the binding into an annotation of the pod.
// Later members go to the recorded domain, whatever the labels of nodes say by then. It lives as long as the
// pod.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/types/meta.h"

namespace berth::api {

inline constexpr std::string_view kGroupDomainAnnotation = "scheduling.berth.dev/domain";
// Bytes: of the keys of four levels, with their values.
inline constexpr std::size_t kGroupDomainBytesMax = 2048;

// "example.com/block=b1,example.com/rack=r1"; empty without keys, if the node lacks one of them, and beyond
// kGroupDomainBytesMax.
std::string record_domain(std::span<const std::string> keys, const StringMap& node_labels);
// "b1/r1": the path of these keys, outermost first. None if the record lacks one of them.
std::optional<std::string> recorded_path(std::string_view record, std::span<const std::string> keys);

}  // namespace berth::api
