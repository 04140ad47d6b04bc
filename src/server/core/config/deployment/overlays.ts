/**
 * `catalog_overlays[]` and the overlay files of the node: changes to the compiled provider catalog, as facts only
 * (endpoints, model gates, capability claims). Spec: document 3, `catalog_overlays[]`.
 * A `base_url` here may hold a placeholder such as `{region}`, so it is checked by shape and not parsed as a URL.
 */

import {
  anything,
  choice,
  list,
  map,
  mayBeSecret,
  object,
  orEmpty,
  required,
  type Schema,
  type TypeOf,
  text,
  withDefault,
  withoutReferences,
} from "../schema.ts";
import { dialect, filled, headers, label, modelPatterns, pathName } from "./terms.ts";

const root = (description: string): Schema<string> =>
  mayBeSecret(
    text(description, { pattern: "^https?://[^\\s/]+(/\\S*)?$", examples: ["https://models.example.com/v1"] }),
  );

const fieldNames = (description: string): Schema<readonly string[]> =>
  list(description, filled("Name of a top-level JSON field."), { uniqueItems: true });

const channel = object("One surface of a provider: a dialect at an address, with what it claims to be capable of.", {
  id: required(withoutReferences(pathName("Unique in the provider; what a route selects."))),
  op: orEmpty(
    choice("What a `patch` of the provider does with this channel; refused under any other operation.", [
      "add",
      "replace",
      "remove",
    ]),
  ),
  dialect: orEmpty(dialect("Dialect spoken on this channel; left out, the provider's `schema.name`.")),
  tier: choice("`provider` is the maker's own surface, `provider_compat` one kept for clients of another dialect.", [
    "provider",
    "provider_compat",
  ]),
  base_url: root("Root for requests on this channel, in place of the provider's."),
  path_prefix: text("Put between root and path, in place of the provider's.", {
    pattern: "^(/\\S*)?$",
    examples: ["/v1"],
  }),
  models: modelPatterns("Model ids this channel serves; empty means all."),
  caps: list(
    "Capabilities claimed, exactly these; left out, all that the dialect can express.",
    filled("Name of a capability."),
    { uniqueItems: true },
  ),
  docs: text("Where the provider documents this surface."),
  verified_at: text("Day on which the claims were checked, `YYYY-MM-DD`; required on `provider_compat` channels.", {
    format: "date",
  }),
  verified_by: filled("Who or what checked the claims; required on `provider_compat` channels."),
});

const operation = object("One operation on one provider of the catalog.", {
  op: required(
    choice(
      "`add` a provider that is absent, `replace` one by a full new definition, `patch` its `base_url`, `key_env`, `docs` or `channels`, or `remove` it.",
      ["add", "replace", "patch", "remove"],
    ),
  ),
  name: required(pathName("Provider's name in the catalog; in an overlay file, the file's base name.")),
  schema: object("Dialect of the provider.", {
    name: required(dialect("Dialect that the provider speaks.")),
    version: orEmpty(text("Version of the dialect; empty takes the dialect's default.")),
  }),
  base_url: root("Root for requests; may hold placeholders such as `{region}`."),
  key_env: text("Name of the environment variable that usually holds the provider's key; informational.", {
    pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
    examples: ["MODELS_API_KEY"],
  }),
  docs: text("Where the provider documents its API."),
  remove_request_fields: fieldNames("Top-level JSON fields taken out of a request before it is forwarded."),
  set_request_fields: map(
    "Top-level JSON fields forced to fixed values.",
    anything("The JSON value that the field is forced to."),
  ),
  set_request_headers: headers("Headers added to a request, or overwritten."),
  remove_request_headers: list("Headers taken out of a request.", filled("Name of a header, in any case."), {
    uniqueItems: true,
  }),
  strip_path_prefix: text("Taken off the front of the incoming path before it is appended to `base_url`.", {
    pattern: "^(/\\S*)?$",
    examples: ["/v1"],
  }),
  channels: list("Channels of the provider.", channel),
});

/** Schema of a file named in the node file's `catalog_overlay_paths`. */
export const overlaySchema = operation;

export const catalogOverlays = list(
  "Changes to the compiled provider catalog, applied in this order, after the node's own overlay files and before presets are resolved.",
  object("A named list of provider operations.", {
    name: required(label("Labels the overlay in provenance and in errors.")),
    providers: withDefault(list("Provider operations, applied in this order.", operation), []),
  }),
);

export type ProviderOperation = TypeOf<typeof operation>;
export type ChannelOperation = TypeOf<typeof channel>;
export type CatalogOverlay = TypeOf<typeof catalogOverlays>[number];
