// Table columns of custom resources: additionalPrinterColumns of their version.
//
// Pure, any thread. Source: the table convertor of custom resources of apiextensions-apiserver 1.37.
#pragma once

#include "base/json.h"
#include "base/time.h"
#include "crd/served_version.h"

namespace berth::crd {
struct ServedVersion;
}

namespace berth::server {

// Name first, then the version's own.
Json custom_definitions(const crd::ServedVersion& version);
// A cell is null where the path leads nowhere, or to a value of another type.
JsonArray custom_cells(const crd::ServedVersion& version, const Json& object, Time now);

}  // namespace berth::server
