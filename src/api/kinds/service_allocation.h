// What Services get of ranges that they share: addresses, and ports of the nodes.
//
// Pure functions over canonical documents; RuleContext::services says what others have. The same name gets
// the same address and ports as long as they are free. Source: registry/core/service/storage/alloc.go of
// Kubernetes 1.37.
#pragma once

#include "api/kind_rules.h"

namespace berth::api {

// Of the spec of a Service.
bool is_external_service(const Json& spec);  // ExternalName, which has no address
bool is_load_balancer(const Json& spec);
bool has_node_ports(const Json& spec);            // or may have
bool has_health_port(const Json& spec);           // for checks of its health
bool is_externally_accessible(const Json& spec);  // traffic from outside may reach it

// Fills in what a new Service lacks.
void allocate_for_new(Json& service, const RuleContext& ctx);
// The same of a changed one: what the stored one has stays; what another type has no use for goes.
void allocate_for_update(Json& next, const Json& old, const RuleContext& ctx);
// What the client chose against that of others and the ranges, and what could not be given because a range is
// full. `old` is null at creation. Cost: O(ports).
FieldErrors check_allocations(const Json& service, const Json* old, const RuleContext& ctx);

}  // namespace berth::api
