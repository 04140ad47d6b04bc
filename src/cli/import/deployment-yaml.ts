/** Builds the deployment document of a draft, with its objects in the usual order. */

import type { Provider, Routing } from "./assign-providers.ts";
import type { Variables } from "./credential-references.ts";
import type { Draft, Entry } from "./deployment-draft.ts";
import { durationText } from "./durations.ts";
import { escapeReferences } from "./escape-source-text.ts";
import { reactionsOf, type TimeoutReactions } from "./first-byte-timeouts.ts";
import type { ForeignSource } from "./foreign-source.ts";
import { type Commented, withComment } from "./yaml-text.ts";

const ALL = ["connect", "5xx", "429", "timeout"];
/** Number of source lines that a comment names. More would not help to find the place. */
const MAX_LINES_NAMED = 8;

export function documentOf(
  draft: Draft,
  { providers, defaultProvider }: Routing,
  variables: Variables,
  { addNote, root }: ForeignSource,
): Entry {
  const { reactions, dropped } = reactionsOf(providers);
  for (const { name } of dropped) {
    addNote(
      root.at,
      [],
      `the timeout of provider ${name} is not imported; \`first_byte_timeout\` needs a \`retry\` or \`failover\` that acts on it`,
    );
  }
  const credentials = new Map<string, { readonly name: string; readonly cloudsig: Entry }>();
  for (const { name, endpoint } of providers) {
    const key = JSON.stringify(endpoint.cloudsig);
    if (endpoint.cloudsig !== undefined && !credentials.has(key))
      credentials.set(key, { name, cloudsig: endpoint.cloudsig });
  }
  const credentialOf = (provider: Provider): string | undefined =>
    provider.endpoint.cloudsig && credentials.get(JSON.stringify(provider.endpoint.cloudsig))?.name;
  const namesOf = (label: string): readonly string[] =>
    providers.filter(({ endpoint }) => endpoint.label === label).map(({ name }) => name);
  const profiles = draft.profiles?.(namesOf);
  const hasPaidProvider = providers.filter(
    ({ endpoint }) => endpoint.apiKey !== undefined || endpoint.cloudsig !== undefined,
  );
  if (draft.auth !== true && hasPaidProvider.length > 0) {
    const [first] = hasPaidProvider;
    addNote(
      root.at,
      [],
      `the document has no \`auth\`, so anybody who reaches the gateway can use the keys of its providers (${first?.name}${hasPaidProvider.length > 1 ? ` and ${hasPaidProvider.length - 1} more` : ""}); add \`auth: { virtual_keys: true }\` to require keys from callers`,
    );
  }
  return {
    ...(draft.auth === true && {
      auth: withComment("Callers need keys of this gateway: mint one with `gateway keys mint NAME`.", {
        virtual_keys: true,
      }),
    }),
    ...(draft.maxBodyBytes !== undefined && { max_body_bytes: draft.maxBodyBytes }),
    ...(credentials.size > 0 && { credentials: [...credentials.values()] }),
    providers: providers.map((provider) =>
      providerEntry(provider, {
        reactions: reactions.get(provider),
        credential: credentialOf(provider),
        needsKey: draft.auth === true,
        variables,
      }),
    ),
    ...(defaultProvider !== undefined && { default_provider: defaultProvider.name }),
    ...sectionEntry("budgets", draft.budgets),
    ...sectionEntry("profiles", profiles),
    ...sectionEntry("mcp", draft.mcp),
    ...((draft.detectors ?? []).length > 0 && {
      guardrails: {
        ...(draft.holdsStreams === true && { stream: { policy: "buffer" } }),
        detectors: draft.detectors,
        rules: draft.rules ?? [],
      },
    }),
  };
}

const sectionEntry = (name: string, entries: readonly Entry[] | undefined): Entry =>
  entries === undefined || entries.length === 0 ? {} : { [name]: entries };

interface Beside {
  readonly reactions: TimeoutReactions | undefined;
  readonly credential: string | undefined;
  readonly needsKey: boolean;
  readonly variables: Variables;
}

function providerEntry(provider: Provider, { reactions, credential, needsKey, variables }: Beside): Commented {
  const { name, endpoint, models, aliases, to, lines, timeoutMs } = provider;
  const { preset, dialect, baseUrl, region, retry } = endpoint;
  let key = endpoint.apiKey;
  let comment = linesText([...lines].sort((a, b) => a - b));
  if (key === undefined && credential === undefined && needsKey) {
    const variable = `${name
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, "_")
      .replace(/^(?=\d)/, "_")}_KEY`;
    key = variables.referenceTo(variable);
    comment += `\nThe source has no key for it, and with \`auth\` the gateway must present one. If the server needs none, set ${variable} to any text.`;
  }
  return withComment(comment, {
    ...(name !== preset && { name }),
    ...(preset !== undefined && { preset }),
    ...(dialect !== undefined && { dialect }),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
    ...(region !== undefined && { region }),
    ...(key !== undefined && { api_key: key }),
    ...(credential !== undefined && { credential }),
    ...(models.size > 0 && { models: [...models].map(escapeReferences) }),
    ...(aliases.size > 0 && {
      model_aliases: Object.fromEntries([...aliases].map(([from, sent]) => [from, escapeReferences(sent)])),
    }),
    ...(timeoutMs !== undefined && { first_byte_timeout: durationText(timeoutMs) }),
    ...(retry !== undefined && { retry: { ...retry, ...(reactions?.retries === true && { when: ALL }) } }),
    ...(to.length > 0 && {
      failover: { to: to.map((it) => it.name), ...(reactions?.failsOver === true && { when: ALL }) },
    }),
  });
}

function linesText(lines: readonly number[]): string {
  const shown = lines.slice(0, MAX_LINES_NAMED).join(", ");
  const more = lines.length > MAX_LINES_NAMED ? " and more" : "";
  return lines.length === 1 ? `From line ${shown}.` : `From lines ${shown}${more}.`;
}
