/** Imports the configuration of another gateway: reads it, assigns models to providers, and writes a deployment document. Pure. */

import { MAX_DOCUMENT_BYTES, type Source } from "../../server/core/config/index.ts";
import { assignProviders, type Routing } from "./assign-providers.ts";
import { readBifrost } from "./bifrost.ts";
import { createVariables, NAMES_VARIABLE, type Role } from "./credential-references.ts";
import type { Draft, ReaderInput } from "./deployment-draft.ts";
import { documentOf } from "./deployment-yaml.ts";
import { type Note, openForeignSource, type SettingLocation } from "./foreign-source.ts";
import { readLitellm } from "./litellm.ts";
import { readPortkey } from "./portkey.ts";
import { type Format, recognizeFormat } from "./recognize-format.ts";
import { commentText, yamlText } from "./yaml-text.ts";

export const SYSTEMS = ["litellm", "portkey", "bifrost"] as const;

export type System = (typeof SYSTEMS)[number];

interface Reader {
  readonly title: string;
  /** Returns the environment variable that a text of the source refers to. */
  readonly variable: (text: string) => string | undefined;
  readonly read: (reading: ReaderInput) => Draft;
}

const READERS: Readonly<Record<System, Reader>> = {
  litellm: { title: "LiteLLM", variable: (text) => /^os\.environ\/(\w+)$/.exec(text)?.[1], read: readLitellm },
  portkey: { title: "Portkey", variable: () => undefined, read: readPortkey },
  bifrost: { title: "Bifrost", variable: (text) => /^env\.(\w+)$/.exec(text)?.[1], read: readBifrost },
};

export type Imported =
  | {
      readonly kind: "imported";
      readonly text: string;
      readonly notes: readonly Note[];
      readonly variables: ReadonlyMap<string, Role>;
      readonly providers: number;
      /** Settings that mean the same in the document, by line. */
      readonly carriedOver: readonly SettingLocation[];
      readonly models: readonly ImportedModel[];
    }
  /** Messages for the operator, one line each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Model name that clients can request. */
interface ImportedModel {
  /** Name or pattern that ends in `*`; `undefined` for every name that no provider claims. */
  readonly name: string | undefined;
  readonly provider: string;
  /** Model name to send to the provider; `undefined` if it is the same. */
  readonly sent: string | undefined;
  /** Providers of the failover, in order. */
  readonly failover: readonly string[];
}

export const titleOf = (system: System): string => READERS[system].title;

export function importConfiguration(system: System, source: Source, presets: ReadonlyMap<string, string>): Imported {
  const opened = openForeignSource(source);
  if (opened.kind === "refused") return opened;
  const { title, variable, read } = READERS[system];
  // Reads the source twice. New variables must not have the name of one that the source uses, and the source may name
  // its variables after the first literal key.
  const first = createVariables(variable);
  read({ source: opened.foreign(), variables: first, presets });
  const foreign = opened.foreign();
  const variables = createVariables(variable, first.sourceVariables);
  const draft = read({ source: foreign, variables, presets });
  const routing = assignProviders(draft.routes, foreign);
  const format = routing.providers.length === 0 ? recognizeFormat(opened.foreign().root, system) : undefined;
  if (format !== undefined)
    return { kind: "refused", problems: [`${source.name}:1:1: ${otherFormat(format, system)}`] };
  const document = documentOf(draft, routing, variables, foreign);
  const body = yamlText(document);
  // Leaves out variables of parts that are not in the document.
  const used = new Map([...variables.used].filter(([name]) => body.includes(`\${${name}}`)));
  const notes = foreign.notes
    .filter(({ message }) => isForReader(message, used))
    .sort((a, b) => a.line - b.line)
    .map((note) => ({ ...note, unit: foreign.leftOutWith(note) }));
  const text = `${head(title, used, notes)}\n${body}`;
  if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) {
    return {
      kind: "refused",
      problems: [`${source.name}:1:1: the document would be longer than 4 MiB, the limit of a deployment document`],
    };
  }
  return {
    kind: "imported",
    text,
    notes,
    variables: used,
    providers: routing.providers.length,
    carriedOver: foreign.carriedOver(),
    models: modelsOf(routing),
  };
}

/** Explains that the source is not a configuration of `system`, and what to do with it. */
function otherFormat(format: Format, system: System): string {
  const notOf = `not a ${READERS[system].title} configuration`;
  if (format === "deployment")
    return `this looks like a deployment document of this gateway, ${notOf}; it needs no import: name it in \`deployment\` of the node file`;
  if (format === "node")
    return `this looks like a node file of this gateway, ${notOf}; it needs no import: gateway -config FILE`;
  return `this looks like a ${READERS[format].title} configuration, ${notOf}: gateway import ${format} FILE`;
}

/**
 * Returns the names that are served. The first provider that claims a name serves it; later ones are only used for
 * failover.
 */
function modelsOf({ providers, defaultProvider }: Routing): readonly ImportedModel[] {
  const models = new Map<string, ImportedModel>();
  for (const { name: provider, models: servedModels, aliases, to } of providers) {
    const failover = to.map(({ name }) => name);
    const sentAs: readonly (readonly [string, string | undefined])[] = [
      ...[...servedModels].map((name) => [name, undefined] as const),
      ...aliases,
    ];
    for (const [name, sent] of sentAs) if (!models.has(name)) models.set(name, { name, provider, sent, failover });
  }
  const others = defaultProvider && {
    name: undefined,
    provider: defaultProvider.name,
    sent: undefined,
    failover: defaultProvider.to.map(({ name }) => name),
  };
  return [...models.values(), ...(others === undefined ? [] : [others])];
}

/** Returns whether a note concerns the reader of the document: the variable it names, if any, is one that the document reads. */
function isForReader(message: string, used: ReadonlyMap<string, Role>): boolean {
  const named = NAMES_VARIABLE.exec(message)?.[1];
  return named === undefined || used.has(named);
}

/** Returns the comment at the head of the document: its variables and all notes. */
function head(title: string, used: ReadonlyMap<string, Role>, notes: readonly Note[]): string {
  const variables = [...used].sort(([a], [b]) => (a < b ? -1 : 1));
  return commentText(
    [
      `Deployment document, imported from a ${title} configuration. Lines are those of that file.`,
      "",
      variables.length === 0
        ? "It reads no environment variables."
        : "Environment variables that it reads (`${secret:NAME}` can replace them):",
      ...variables.map(([name, role]) => `  ${name}${role === "address" ? " (an address)" : ""}`),
      ...(notes.length === 0 ? [] : ["", "Left out or changed:"]),
      ...notes.map(({ line, path, message }) => `  ${line}: ${path === "" ? "" : `${path}: `}${message}`),
    ].join("\n"),
  );
}
