// The annotation of a StorageClass for claims that name none: "true". Source: storage/v1.
#pragma once

#include <string_view>

namespace berth::api {

inline constexpr std::string_view kDefaultStorageClassAnnotation =
    "storageclass.kubernetes.io/is-default-class";

}  // namespace berth::api
