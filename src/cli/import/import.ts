/** A foreign configuration to a deployment document: read, routed, written. Pure. */

import { MAX_DOCUMENT_BYTES, type Source } from "../../server/core/config/index.ts";
import { readBifrost } from "./bifrost.ts";
import { documentOf } from "./document.ts";
import type { Draft, Reading } from "./draft.ts";
import { NAMES_VARIABLE, openVariables, type Role } from "./keys.ts";
import { readLitellm } from "./litellm.ts";
import { readPortkey } from "./portkey.ts";
import { routed } from "./routes.ts";
import { type Note, openForeign } from "./source.ts";
import { commentText, yamlText } from "./yaml-text.ts";

export const SYSTEMS = ["litellm", "portkey", "bifrost"] as const;

export type System = (typeof SYSTEMS)[number];

interface Reader {
  readonly title: string;
  /** The variable that a text of the source refers to. */
  readonly variable: (text: string) => string | undefined;
  readonly read: (reading: Reading) => Draft;
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
    }
  /** Lines for a person. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

export function importConfiguration(system: System, source: Source, presets: ReadonlyMap<string, string>): Imported {
  const opened = openForeign(source);
  if (opened.kind === "refused") return opened;
  const { title, variable, read } = READERS[system];
  // What the source reads from its environment may be named behind what is written out.
  const first = openVariables(variable);
  read({ foreign: opened.foreign(), variables: first, presets });
  const foreign = opened.foreign();
  const variables = openVariables(variable, first.asked);
  const draft = read({ foreign, variables, presets });
  const routing = routed(draft.routes, foreign.tell);
  const document = documentOf(draft, routing, variables, foreign);
  const body = yamlText(document);
  // What stood in a part that is left out is read by nobody.
  const used = new Map([...variables.used].filter(([name]) => body.includes(`\${${name}}`)));
  const notes = foreign.notes.filter(({ words }) => isForReader(words, used)).sort((a, b) => a.line - b.line);
  const text = `${head(title, used, notes)}\n${body}`;
  if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) {
    return {
      kind: "refused",
      problems: [`${source.name}:1:1: what it comes to is longer than a document may be (4 MiB)`],
    };
  }
  return { kind: "imported", text, notes, variables: used, providers: routing.providers.length };
}

/** Whether the variable that a note names is one that the document reads. */
function isForReader(words: string, used: ReadonlyMap<string, Role>): boolean {
  const named = NAMES_VARIABLE.exec(words)?.[1];
  return named === undefined || used.has(named);
}

/** What a reader of the document must know, and what they must not look for in it. */
function head(title: string, used: ReadonlyMap<string, Role>, notes: readonly Note[]): string {
  const variables = [...used].sort(([a], [b]) => (a < b ? -1 : 1));
  return commentText(
    [
      `Deployment document, written from a configuration of ${title}. Lines are those of that file.`,
      "",
      variables.length === 0
        ? "It reads no environment variables."
        : "Environment variables that it reads (`${secret:NAME}` may take their place):",
      ...variables.map(([name, role]) => `  ${name}${role === "address" ? " (an address)" : ""}`),
      ...(notes.length === 0 ? [] : ["", "What has no counterpart, or became something else:"]),
      ...notes.map(({ line, path, words }) => `  ${line}: ${path === "" ? "" : `${path}: `}${words}`),
    ].join("\n"),
  );
}
