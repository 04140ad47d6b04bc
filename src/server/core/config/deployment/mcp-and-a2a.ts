/**
 * `mcp[]`, `a2a[]` and `a2a_cards`: the servers and agents that the gateway fronts. Spec: document 3, `mcp[]`, `a2a[]`.
 * Registry names and limits: MCP registry `server.json`.
 */

import {
  choice,
  example,
  integer,
  list,
  mayBeSecret,
  object,
  orEmpty,
  required,
  secret,
  text,
  verbatimSecret,
  withDefault,
} from "../schema/schema.ts";
import { filled, filledAs, pathName } from "./terms.ts";

const COMMON_HOP_KEYS = {
  api_key: secret(
    filled("This value is sent as a bearer token instead of the client's credential. Write it as a reference."),
  ),
  credential: filledAs(
    "The name of an entry of `credentials`, which is sent instead of the client's credential.",
    "tools",
  ),
  cost_per_call: withDefault(example(integer("One request costs this many units of a budget.", { minimum: 0 }), 10), 1),
};

const RESTORED_TYPE = "One entity type that has an alphabet for the `fpe` operator.";

const repository = object(
  "This section says where the source code of the server is.",
  {
    url: required(
      text("The address of the repository.", { format: "url", examples: ["https://code.example.com/tools/search"] }),
    ),
    source: required(filledAs("The name of the code host.", "github")),
    subfolder: text("The folder of the server inside the repository.", { examples: ["servers/search"] }),
  },
  { examples: [{ url: "https://code.example.com/tools/search", source: "github" }] },
);

const icon = object("One icon of the server.", {
  src: required(
    text("The address of the image, which must use HTTPS.", {
      pattern: "^https://\\S+$",
      examples: ["https://example.com/icon.png"],
    }),
  ),
  mime_type: text("The media type of the image.", {
    pattern: "^[a-z]+/[A-Za-z0-9.+-]+$",
    examples: ["image/png"],
  }),
  sizes: list(
    "The image is available in these sizes.",
    text("One size in pixels, or `any` for an image that scales.", {
      pattern: "^([0-9]+x[0-9]+|any)$",
      examples: ["48x48", "any"],
    }),
  ),
  theme: choice("The image is made for this background.", ["light", "dark"]),
});

const registry = object(
  "This section lists the server in the MCP registry of the gateway. Clients can then also reach it at `/mcp/<registry name>`.",
  {
    name: required(
      text("The name consists of a reverse-DNS namespace, one slash and a short name.", {
        pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
        minLength: 3,
        maxLength: 200,
        examples: ["com.example/search"],
      }),
    ),
    version: orEmpty(
      text(
        "The registry shows this version. It is `0.0.0` if the key is empty or absent. If two entries have one name, the registry lists the highest version.",
        { examples: ["1.4.0"] },
      ),
    ),
    title: text("Lists show this title to people instead of the name.", { examples: ["Search"] }),
    description: required(
      filled("The description says what the server does, in at most 100 characters.", {
        maxLength: 100,
        examples: ["Searches the company's documents."],
      }),
    ),
    website_url: text("The address of a page about the server.", {
      format: "url",
      examples: ["https://tools.example.com/search"],
    }),
    repository,
    icons: list("The icons of the server.", icon),
  },
  { examples: [{ name: "com.example/search", description: "Searches the company's documents." }] },
);

export const mcp = list(
  "The gateway serves these MCP servers at `/mcp/<name>`.",
  object(
    "One MCP server behind the gateway.",
    {
      name: required(
        pathName("The name is the path segment in `/mcp/<name>`, and rules match it as `server`.", "search"),
      ),
      url: required(
        mayBeSecret(
          text("The server's Streamable HTTP endpoint. The gateway uses the URL as it is.", {
            format: "url",
            examples: ["https://search.internal.example.com/mcp"],
          }),
        ),
      ),
      ...COMMON_HOP_KEYS,
      restore: list(
        "The gateway turns format-preserved values of these entity types back into the original values in this server's tool arguments, after the guardrails ran. If the list is empty or absent, it restores nothing.",
        filledAs(RESTORED_TYPE, "CREDIT_CARD"),
        { uniqueItems: true },
      ),
      registry,
    },
    {
      exclusive: [["api_key", "credential"]],
      examples: [{ name: "search", url: "https://search.internal.example.com/mcp", api_key: "${secret:SEARCH_TOKEN}" }],
    },
  ),
);

export const a2a = list(
  "The gateway serves these A2A agents at `/a2a/<name>`.",
  object(
    "One A2A agent behind the gateway.",
    {
      name: required(
        pathName("The name is the path segment in `/a2a/<name>`, and rules match it as `peer`.", "planner"),
      ),
      url: required(
        mayBeSecret(
          text("The URL of the agent's JSON-RPC interface, as its card lists it.", {
            format: "url",
            examples: ["https://planner.internal.example.com/rpc"],
          }),
        ),
      ),
      card_url: mayBeSecret(
        text("The URL of the agent's own card. It defaults to the well-known path of the origin of `url`.", {
          format: "url",
          examples: ["https://planner.internal.example.com/card.json"],
        }),
      ),
      ...COMMON_HOP_KEYS,
      restore: list(
        "The gateway turns format-preserved values of these entity types back into the original values in the message parts that the agent receives, after the guardrails ran. If the list is empty or absent, it restores nothing.",
        filledAs(RESTORED_TYPE, "CREDIT_CARD"),
        { uniqueItems: true },
      ),
    },
    {
      exclusive: [["api_key", "credential"]],
      examples: [{ name: "planner", url: "https://planner.internal.example.com/rpc", credential: "tools" }],
    },
  ),
);

export const a2aCards = object(
  "This section signs the agent cards that the gateway serves. Without it the cards are unsigned.",
  {
    signing_keys: required(
      list(
        "These EC P-256 private keys sign the cards. The first key signs, and the public halves of all keys are published under their RFC 7638 thumbprints.",
        verbatimSecret(filledAs("One private key in PEM. Write it as a reference.", "${secret:CARD_SIGNING_KEY}")),
        { minItems: 1 },
      ),
    ),
  },
  { examples: [{ signing_keys: ["${secret:CARD_SIGNING_KEY}"] }] },
);
