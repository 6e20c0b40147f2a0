// The BindRequests of gangs' decisions in one object: a BindRequest that has their specs in spec.members and
// no pod of its own (`bindRequests: WhenWaiting`; binding/memory_requests.h).
//
// Its name is derived from its contents, so a repeated create finds it. Its PodGroups own it.
#pragma once

#include "api/types/bind_request.h"

namespace berth::api {

// `specs`: at least one, as made by bind_request_spec(), of one namespace, scheduler and term.
Json gang_record_object(const std::string& ns, std::vector<Json> specs);
bool is_gang_record(const Json& object);
// Members without a pod's name are left out.
std::vector<Json> specs_of_gang_record(const Json& record);
std::string request_name_of_spec(const Json& spec);
BindRequest request_of_spec(const std::string& ns, const Json& spec);

}  // namespace berth::api
