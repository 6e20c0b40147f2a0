#include "api/types/node_device_health.h"

#include "api/type_table.h"

namespace berth::api {

ResourceRef node_device_health_resource() {
  return {std::string(kBerthGroup), "v1alpha1", "nodedevicehealths"};
}

}  // namespace berth::api
