// The request to a conversion webhook and the judgement of its answer.
//
// Pure, any thread. Cost: linear in the objects. Source: conversion/webhook_converter.go of
// apiextensions-apiserver 1.37 (ConversionReview v1 and v1beta1, which differ in nothing but their name).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "crd/webhook_client.h"

namespace berth::crd {

// Where the objects of a definition are converted.
struct ConversionWebhook {
  WebhookClient client;
  std::string review_version;  // "v1" or "v1beta1"
};

// `conversion` is spec.conversion with strategy Webhook.
ConversionWebhook read_conversion_webhook(const Json& conversion);

// "ex.io/v1, Kind=Gizmo": how errors name the object that was to be converted.
std::string kind_text(const Json& object);

// The body of a ConversionReview; `objects` are the texts of the objects.
std::string conversion_request(std::string_view review_version, std::string_view uid,
                               std::string_view desired_version, const std::vector<std::string>& objects);

// The objects of an answer. Refuses what is not a successful answer to the request `uid`.
Result<JsonArray> converted_objects(const Json& answer, std::string_view review_version,
                                    std::string_view uid);

// `converted` with the metadata of `original`, of which a webhook changes labels and annotations only.
// Refuses another version than `desired_version`, another kind, name, namespace or UID, and labels that are
// none. The error begins with what the webhook "returned".
Result<Json> accepted_conversion(const Json& original, Json converted, std::string_view desired_version);

}  // namespace berth::crd
