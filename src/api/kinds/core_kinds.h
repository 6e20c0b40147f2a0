// The rows of core_rules() (kinds/core.cc); one .cc file each. Pods are in pod.h.
#pragma once

#include "api/kind_rules.h"

namespace berth::api {

KindRules node_rules();                     // node.cc
KindRules config_map_rules();               // core_config.cc
KindRules secret_rules();                   // core_config.cc
KindRules service_rules();                  // core_service.cc
KindRules event_rules();                    // core_event.cc
KindRules persistent_volume_rules();        // persistent_volume.cc
KindRules persistent_volume_claim_rules();  // core_volume.cc
KindRules storage_class_rules();            // storage_class.cc

}  // namespace berth::api
