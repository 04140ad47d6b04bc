/**
 * `catalog_overlays[]` and the overlay files of the node: changes to the compiled provider catalog, consisting only of facts
 * (endpoints, model gates, capability claims). Spec: document 3, `catalog_overlays[]`. A `base_url` may contain a placeholder
 * such as `{region}`, so its form is checked and it is not parsed as a URL.
 */

import {
  anything,
  choice,
  example,
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
} from "../schema/schema.ts";
import { dialect, filledAs, headers, label, modelPatterns, pathName } from "./terms.ts";

const root = (description: string): Schema<string> =>
  mayBeSecret(
    text(description, { pattern: "^https?://[^\\s/]+(/\\S*)?$", examples: ["https://models.example.com/v1"] }),
  );

const fieldNames = (description: string): Schema<readonly string[]> =>
  list(description, filledAs("The name of one top-level JSON field.", "logit_bias"), { uniqueItems: true });

const channel = object(
  "One surface of a provider: a dialect at an address, with the capabilities that it claims.",
  {
    id: required(
      withoutReferences(pathName("The id is unique in the provider, and routes select channels by it.", "chat")),
    ),
    op: orEmpty(
      choice(
        "A `patch` of the provider applies this operation to the channel. The key is refused with any other operation of the provider.",
        ["add", "replace", "remove"],
      ),
    ),
    dialect: orEmpty(dialect("The dialect of this channel. It defaults to the provider's `schema.name`.")),
    tier: choice(
      "`provider` is the maker's own surface. `provider_compat` is a surface that the maker keeps for clients of another dialect.",
      ["provider", "provider_compat"],
    ),
    base_url: root("The root URL for requests on this channel. It replaces the provider's."),
    path_prefix: text("The prefix is put between root URL and path. It replaces the provider's.", {
      pattern: "^(/\\S*)?$",
      examples: ["/v1"],
    }),
    models: modelPatterns("This channel serves these models. If the list is empty or absent, it serves all."),
    caps: list(
      "The channel claims exactly these capabilities. If the key is absent, it claims all that its dialect can express.",
      filledAs("The name of one capability.", "tools"),
      { uniqueItems: true },
    ),
    docs: text("The address of the provider's documentation of this surface.", {
      examples: ["https://docs.example.com/api"],
    }),
    verified_at: text(
      "The claims were checked on this day, as `YYYY-MM-DD`. It is required on `provider_compat` channels.",
      { format: "date", examples: ["2026-01-31"] },
    ),
    verified_by: filledAs(
      "This person or document verified the claims. It is required on `provider_compat` channels.",
      "API reference",
    ),
  },
  { examples: [{ id: "chat", dialect: "compat", caps: ["chat_completions", "tools", "streaming"] }] },
);

const operation = object(
  "One operation on one provider of the catalog.",
  {
    op: required(
      choice(
        "`add` adds a provider that the catalog lacks. `replace` replaces one by a full definition. `patch` changes only `base_url`, `key_env`, `docs` or `channels`. `remove` removes one.",
        ["add", "replace", "patch", "remove"],
      ),
    ),
    name: required(
      pathName("The name of the provider in the catalog. In an overlay file it equals the file's base name.", "acme"),
    ),
    schema: object(
      "This section names the dialect of the provider.",
      {
        name: required(dialect("The provider speaks this dialect.")),
        version: orEmpty(
          text("The version of the dialect. If it is empty or absent, the dialect's default applies.", {
            examples: ["2023-06-01"],
          }),
        ),
      },
      { examples: [{ name: "compat" }] },
    ),
    base_url: root("The root URL for requests. It may contain placeholders such as `{region}`."),
    key_env: text("This environment variable usually holds the provider's key. It is shown to people only.", {
      pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
      examples: ["MODELS_API_KEY"],
    }),
    docs: text("The address of the provider's API documentation.", { examples: ["https://docs.example.com/api"] }),
    remove_request_fields: fieldNames("These top-level JSON fields are removed from requests."),
    set_request_fields: example(
      map(
        "These top-level JSON fields of requests are set to fixed values.",
        example(anything("The field is set to this JSON value."), false),
      ),
      { store: false },
    ),
    set_request_headers: headers("These headers are added to requests, or replace those of the request."),
    remove_request_headers: list(
      "These headers are removed from requests.",
      filledAs("The name of one header, in upper or lower case.", "baggage"),
      {
        uniqueItems: true,
      },
    ),
    strip_path_prefix: text("The prefix is removed from the incoming path before the path is appended to `base_url`.", {
      pattern: "^(/\\S*)?$",
      examples: ["/v1"],
    }),
    channels: list("The channels of the provider.", channel),
  },
  {
    examples: [
      {
        op: "add",
        name: "acme",
        schema: { name: "compat" },
        base_url: "https://models.acme.example.com/v1",
        channels: [{ id: "chat", caps: ["chat_completions", "tools", "streaming"] }],
      },
    ],
  },
);

/** Schema of a file named in the node file's `catalog_overlay_paths`. */
export const overlaySchema = operation;

export const catalogOverlays = list(
  "These overlays change the built-in provider catalog. They are applied in this order, after the overlay files of the node and before presets are resolved.",
  object(
    "One named list of operations on the catalog.",
    {
      name: required(label("The name identifies the overlay in messages.", "acme")),
      providers: withDefault(list("The operations are applied in this order.", operation), []),
    },
    {
      examples: [
        {
          name: "acme",
          providers: [{ op: "patch", name: "openai", base_url: "https://openai-proxy.internal.example.com/v1" }],
        },
      ],
    },
  ),
);

export type ProviderOperation = TypeOf<typeof operation>;
export type ChannelOperation = TypeOf<typeof channel>;
export type CatalogOverlay = TypeOf<typeof catalogOverlays>[number];
