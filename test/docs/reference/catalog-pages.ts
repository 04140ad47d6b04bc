/** Pages of provider presets, of the routes of the data plane, and of capability names. */

import { type CatalogProvider, type Channel, compiledCatalog } from "../../../src/server/core/catalog/index.ts";
import { CAPABILITY_MEANINGS } from "../../../src/server/core/dialects/fidelity/capability-meanings.ts";
import {
  CAPABILITY_NAMES,
  type Capability,
  findRoute,
  type Route,
  routeExamples,
  ruleOf,
} from "../../../src/server/core/dialects/index.ts";
import { anchor, code, type Page, prose, table } from "./page.ts";

const KEY_HEADERS = {
  bearer: "`authorization: Bearer`",
  "x-api-key": "`x-api-key`",
  "api-key": "`api-key`",
  both: "`authorization: Bearer` and `x-api-key`",
} as const;

/**
 * Returns capabilities of a channel's dialect that the channel does not claim. Routes are left out, as they follow from
 * the base URL.
 */
function lackedBy({ dialect, caps }: Channel): readonly string[] {
  if (caps === undefined) return [];
  return CAPABILITY_NAMES.filter((name) => {
    const { kind, dialects } = ruleOf(name);
    return kind === "use" && dialects.includes(dialect) && !caps.has(name);
  });
}

const quirksOf = (provider: CatalogProvider): string =>
  [
    provider.keyOptional ? "The key is optional." : "",
    provider.signingService === "" ? "" : `Requests can be signed (${code(provider.signingService)}).`,
    provider.removeRequestFields.length === 0 ? "" : `Removes ${provider.removeRequestFields.map(code).join(", ")}.`,
    ...[...provider.renameRequestFields].map(([from, to]) => `Renames ${code(from)} to ${code(to)}.`),
    provider.acceptsStreamUsage ? "" : "Is not asked for usage in streams.",
  ]
    .filter((text) => text !== "")
    .join(" ");

export function presetsPage(): Page {
  const presets = [...compiledCatalog().values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const rows = presets.map((provider) => [
    `${anchor(provider.name)}${code(provider.name)}`,
    provider.channels.map(({ dialect, baseUrl }) => `${code(dialect)} at ${code(baseUrl)}`).join(", "),
    provider.keyEnv === "" ? "" : code(provider.keyEnv),
    [...new Set(provider.channels.map(({ keyHeader }) => KEY_HEADERS[keyHeader]))].join(", "),
    quirksOf(provider),
  ]);
  const lacking = presets.flatMap((provider) =>
    provider.channels.map((channel) => [
      code(provider.name),
      code(channel.dialect),
      lackedBy(channel).map(code).join(", ") || "nothing",
    ]),
  );
  return {
    path: "presets.md",
    title: "Provider presets",
    order: 11,
    about: "Every provider of the built-in catalog, with its address, dialects and what it does not claim.",
    body: [
      `\`preset\` of a provider, and the flag \`-preset\`, take one of these ${presets.length} names. A placeholder such as \`{region}\` is filled by the key of that name, or by a \`base_url\` of your own. The variable is the one that the provider's own tools use; the gateway reads a key only where the configuration refers to it.`,
      table(["Preset", "Channels", "Usual variable of the key", "Sends the key as", "Remarks"], rows),
      "## What channels do not claim",
      "A request that uses a capability in this table needs another channel, or is refused with `fidelity_loss`. [Capabilities](capabilities.md) defines the names. Correct a row for your deployment with `catalog_overlays`.",
      table(["Preset", "Channel", "Does not claim"], lacking),
    ].join("\n\n"),
  };
}

interface ShownRoute {
  readonly route: Route;
  readonly path: string;
  readonly methods: readonly string[];
}

function allRoutes(): readonly ShownRoute[] {
  const shown = new Map<string, ShownRoute>();
  for (const { method, path } of routeExamples()) {
    const route = findRoute(method, path);
    if (route === undefined) continue;
    const written = path === "/v1/example" ? "any other path below /v1/" : path.replace(/\/example$/, "/*");
    const key = `${written} ${route.name} ${route.guard} ${route.usage}`;
    const methods = [...(shown.get(key)?.methods ?? []), ...(method === "HEAD" ? [] : [method])];
    shown.set(key, { route, path: written, methods });
  }
  return [...shown.values()];
}

const GUARDS = {
  open: "",
  hides_models: "The model or its usage is not visible, so a caller with a model list or a budget is refused.",
  grants_credential: "The answer contains a credential of the provider, so a caller with limits is refused.",
} as const;

export function routesPage(): Page {
  const rows = allRoutes().map(({ route, path, methods }) => [
    `${methods.map((method) => code(method === "UPGRADE" ? "WebSocket" : method)).join(", ")} ${code(path)}`,
    code(route.name),
    route.dialect === "either" ? "either" : code(route.dialect),
    route.counterparts.map(({ form, dialect }) => code(form ?? dialect ?? "the other dialect")).join(", "),
    route.capability === "" ? "" : code(route.capability),
    [
      GUARDS[route.guard],
      route.hidesTexts ? "Some texts do not pass the gateway, so guardrails cannot inspect them." : "",
    ]
      .filter((text) => text !== "")
      .join(" "),
  ]);
  return {
    path: "routes.md",
    title: "Routes of the data plane",
    order: 12,
    about: "Every route that clients can call, its dialect, and what it can be translated to.",
    body: [
      "Clients call these routes. `metrics`, rules and logs use the name. A route without a translation needs a channel of its own dialect that claims the capability. MCP servers are at `/mcp/<name>` and A2A agents at `/a2a/<name>`.",
      table(["Request", "Name", "Dialect", "Translated to", "Capability", "Remarks"], rows),
    ].join("\n\n"),
  };
}

const WAYS = [
  ["chat>messages", "chat to messages"],
  ["messages>chat", "messages to chat"],
  ["responses>messages", "responses to messages"],
  ["responses>chat", "responses to chat"],
] as const;

function capabilityRows(kind: "use" | "route" | "remainder"): readonly (readonly string[])[] {
  const names = CAPABILITY_NAMES.filter((name) => ruleOf(name).kind === kind);
  return names.map((name: Capability) => {
    const { outcomes: crossings, dialects, class: weight } = ruleOf(name);
    const ways = kind === "route" ? [] : [weight, ...WAYS.map(([way]) => crossings[way] ?? "")];
    return [`${anchor(name)}${code(name)}`, prose(CAPABILITY_MEANINGS[name]), dialects.map(code).join(", "), ...ways];
  });
}

export function capabilitiesPage(): Page {
  const ways = ["Class", ...WAYS.map(([, title]) => title)];
  return {
    path: "capabilities.md",
    title: "Capabilities",
    order: 13,
    about: "Every capability name, which requests use it, and how it is translated.",
    body: [
      "A capability is a feature that a request uses and a channel may lack. `caps` of a channel and `require_caps` of a profile take the names, and refusals and metrics report them.",
      "A `hard` capability changes the meaning of the request: a channel that lacks it is not used. A `soft` one is a hint whose loss is only counted. `carried` means that it is translated if the channel claims it, `optional` the same, but leaving it out refuses nothing, `emulated` that it is translated by other means, and `lost` that there is no equivalent.",
      "## Features of requests",
      table(["Name", "A request uses it if it has", "Dialects", ...ways], capabilityRows("use")),
      "## Features that no channel claims",
      "They pass within a dialect, and are treated as below in a translation.",
      table(["Name", "A request uses it if it has", "Dialects", ...ways], capabilityRows("remainder")),
      "## Routes",
      table(["Name", "Route", "Dialects"], capabilityRows("route")),
    ].join("\n\n"),
  };
}
