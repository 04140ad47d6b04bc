/**
 * `mcp[]`, `a2a[]` and `a2a_cards`: the servers and agents that the gateway fronts. Spec: document 3, `mcp[]`, `a2a[]`.
 * Registry names and limits: MCP registry `server.json`.
 */

import {
  choice,
  integer,
  list,
  mayBeSecret,
  object,
  orEmpty,
  required,
  secret,
  type TypeOf,
  text,
  verbatimSecret,
  withDefault,
} from "../schema.ts";
import { filled, pathName } from "./terms.ts";

const COMMON_HOP_KEYS = {
  api_key: secret(filled("Bearer value sent in place of the client's credential.")),
  credential: filled("Entry of `credentials` sent in place of the client's credential."),
  cost_per_call: withDefault(integer("Budget units that one request costs.", { minimum: 0 }), 1),
};

const RESTORED_TYPE = "An entity type that has an alphabet for the `fpe` operator.";

const repository = object("Where the source code is.", {
  url: required(text("Address of the repository.", { format: "url" })),
  source: required(filled("Name of the code host, such as `github`.")),
  subfolder: text("Folder inside the repository."),
});

const icon = object("One icon of the server, by its address.", {
  src: required(
    text("Address of the image.", { pattern: "^https://\\S+$", examples: ["https://example.com/icon.png"] }),
  ),
  mime_type: text("Media type of the image.", { pattern: "^[a-z]+/[A-Za-z0-9.+-]+$", examples: ["image/png"] }),
  sizes: list(
    "Sizes of the image in pixels, or `any` for one that scales.",
    text("Such as `48x48`, or `any`.", { pattern: "^([0-9]+x[0-9]+|any)$", examples: ["48x48", "any"] }),
  ),
  theme: choice("Background the image is made for.", ["light", "dark"]),
});

const registry = object(
  "Identity in the registry; makes the server discoverable, and reachable at `/mcp/<registry name>` too.",
  {
    name: required(
      text("Reverse-DNS namespace, one slash, short name; the namespace is what publishing is confined to.", {
        pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
        minLength: 3,
        maxLength: 200,
        examples: ["com.example/search"],
      }),
    ),
    version: orEmpty(
      text("Version, given out as it is; empty is given out as `0.0.0`. One live entry a name, the latest wins."),
    ),
    title: text("Title for people, shown in lists in place of the name."),
    description: required(filled("What the server does, in at most 100 characters.", { maxLength: 100 })),
    website_url: text("Address of a page about the server.", { format: "url" }),
    repository,
    icons: list("Icons of the server.", icon),
  },
);

export const mcp = list(
  "MCP servers that the gateway fronts.",
  object(
    "An MCP server that the gateway fronts.",
    {
      name: required(pathName("The path segment `/mcp/<name>`, and what rules match as `server`.")),
      url: required(mayBeSecret(text("The server's Streamable HTTP endpoint, used as it is.", { format: "url" }))),
      ...COMMON_HOP_KEYS,
      restore: list(
        "Entity types whose format-preserved values are turned back in this server's tool arguments, after guardrails ran.",
        filled(RESTORED_TYPE),
        { uniqueItems: true },
      ),
      registry,
    },
    { exclusive: [["api_key", "credential"]] },
  ),
);

export const a2a = list(
  "Peer agents that the gateway fronts.",
  object(
    "A peer agent that the gateway fronts.",
    {
      name: required(pathName("The path segment `/a2a/<name>`, and what rules match as `peer`.")),
      url: required(
        mayBeSecret(
          text("The agent's JSON-RPC interface: the address that its card lists for that binding.", { format: "url" }),
        ),
      ),
      card_url: mayBeSecret(
        text("Where the agent's own card is, when not at the well-known path of the address's origin.", {
          format: "url",
        }),
      ),
      ...COMMON_HOP_KEYS,
      restore: list(
        "Entity types whose format-preserved values are turned back in the message parts that the agent receives, after guardrails ran.",
        filled(RESTORED_TYPE),
        { uniqueItems: true },
      ),
    },
    { exclusive: [["api_key", "credential"]] },
  ),
);

export const a2aCards = object("Signs the agent cards that the gateway serves; absent, cards are unsigned.", {
  signing_keys: required(
    list(
      "EC P-256 private keys; the first signs, all are published under their RFC 7638 thumbprint.",
      verbatimSecret(filled("A private key in PEM, normally a `secret` reference.")),
      { minItems: 1 },
    ),
  ),
});

export type McpServer = TypeOf<typeof mcp>[number];
export type A2aAgent = TypeOf<typeof a2a>[number];
