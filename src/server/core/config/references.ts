/**
 * References in string values: `${VAR}`, `${secret:NAME}`, `${file:NAME}`, and `$${` for a literal `${`.
 *
 * Source: spec document 2, loading rules 3 and 4. They may stand within a longer text. A value is put in as it is and
 * never searched for references again. What a document's references expand to is bounded as a whole, so that a small
 * document cannot name a large secret many thousand times.
 */

import { enumerated, type Path, SHOWN_LENGTH } from "./problem.ts";
import type { Tree } from "./tree.ts";

export type Lookup =
  | { readonly kind: "value"; readonly value: string }
  /** `message` says why in words; it must not hold the value. */
  | { readonly kind: "problem"; readonly message: string };

/** What references resolve to on this node, handed in since the core reads neither environment nor files. */
export interface References {
  readonly env: (name: string) => string | undefined;
  readonly secret: (name: string) => Lookup;
  readonly file: (name: string) => Lookup;
}

/** Names that were asked for, also those that could not be resolved: a watcher waits for them to appear. */
export interface Used {
  readonly environment: readonly string[];
  readonly secrets: readonly string[];
  readonly files: readonly string[];
}

export interface ReferenceRules {
  /** `${file:NAME}` is for the deployment document only. */
  readonly fileAllowed: boolean;
  /** A document that holds facts only has no references at all. */
  readonly noneAllowed?: boolean;
  /** Top-level keys in which only the environment may be named, since secrets cannot be read before they are known. */
  readonly environmentOnly?: readonly string[];
}

type Scheme = "env" | "secret" | "file";

export interface Expanded {
  /** A fresh value, which the caller may change; what was refused is `null`. */
  readonly value: unknown;
  /** By `pathKey`: the references of a string as written, and whether all of them were resolved. */
  readonly written: ReadonlyMap<string, Written>;
  /** The references as written by what they resolved to, so that a message can be cleared of the values. */
  readonly resolved: ReadonlyMap<string, string>;
  readonly used: Used;
}

export interface Written {
  readonly references: readonly string[];
  readonly isResolved: boolean;
}

type Report = (path: Path, message: string) => void;

export const MAX_EXPANDED_LENGTH = 16 * 1024 * 1024;

const TOKEN = /\$\$\{|\$\{([^{}]*)\}|\$\{/g;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
/** One file name: no separator, so that it cannot leave the directory. */
const FILE_NAME = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,255}$/;

/** Unlike the path as shown, this tells a key with a dot from two keys. */
export const pathKey = (path: Path): string => path.map(String).join("\u0000");

export function expand(tree: Tree, references: References, rules: ReferenceRules, report: Report): Expanded {
  const written = new Map<string, Written>();
  const resolved = new Map<string, string>();
  const schemes: readonly Scheme[] =
    rules.noneAllowed === true ? [] : rules.fileAllowed ? ["env", "secret", "file"] : ["env", "secret"];
  const used = { environment: new Set<string>(), secrets: new Set<string>(), files: new Set<string>() };
  let length = 0;

  const resolve = (inner: string, path: Path, refuse: (message: string) => undefined): string | undefined => {
    const [, prefix, name = ""] = /^(?:(secret|file):)?(.*)$/s.exec(inner) ?? [];
    const scheme: Scheme = prefix === "secret" || prefix === "file" ? prefix : "env";
    if (scheme === "env" && !VARIABLE.test(name)) return refuse(NOT_A_REFERENCE);
    if (scheme !== "env" && !FILE_NAME.test(name)) {
      return refuse(`the name in \`\${${scheme}:NAME}\` is one file name, never a path`);
    }
    const reference = `\`\${${inner}}\``;
    if (!schemes.includes(scheme)) {
      return refuse(`${reference} cannot be used in this document, ${allowedForms(schemes)}`);
    }
    if (scheme !== "env" && rules.environmentOnly?.includes(String(path[0])) === true) {
      return refuse(`${reference} cannot be used here, ${allowedForms(["env"])}`);
    }
    if (scheme === "env") {
      used.environment.add(name);
      return references.env(name) ?? refuse(`environment variable \`${name}\` is not set`);
    }
    (scheme === "secret" ? used.secrets : used.files).add(name);
    const found = scheme === "secret" ? references.secret(name) : references.file(name);
    return found.kind === "value" ? found.value : refuse(`${reference}: ${found.message}`);
  };

  const expandText = (text: string, path: Path): string => {
    if (!text.includes("${")) return text;
    const found: string[] = [];
    const said = new Set<string>();
    const refuse = (message: string): undefined => {
      if (!said.has(message)) report(path, message);
      said.add(message);
    };
    let isResolved = true;
    const result = text.replace(TOKEN, (token: string, inner: string | undefined) => {
      if (token === "$${") return "${";
      if (inner === undefined) refuse(NOT_A_REFERENCE);
      const value = inner === undefined || length > MAX_EXPANDED_LENGTH ? undefined : resolve(inner, path, refuse);
      if (value === undefined) isResolved = false;
      else {
        found.push(token);
        resolved.set(value, token);
      }
      const wasWithin = length <= MAX_EXPANDED_LENGTH;
      length += value?.length ?? 0;
      if (length <= MAX_EXPANDED_LENGTH) return value ?? "";
      if (wasWithin) report(path, "the document's references expand to more than 16 MiB of text");
      isResolved = false;
      return "";
    });
    if (found.length > 0 || !isResolved) written.set(pathKey(path), { references: [...new Set(found)], isResolved });
    return result;
  };

  const toValue = (node: Tree, path: Path): unknown => {
    if (node.kind === "refused") return null;
    if (node.kind === "list") return node.items.map((item, index) => toValue(item, [...path, index]));
    if (node.kind === "scalar") return typeof node.value === "string" ? expandText(node.value, path) : node.value;
    return Object.fromEntries([...node.entries].map(([key, entry]) => [key, toValue(entry.value, [...path, key])]));
  };

  const value = toValue(tree, []);
  const sorted = (names: ReadonlySet<string>) => [...names].sort();
  return {
    value,
    written,
    resolved,
    used: { environment: sorted(used.environment), secrets: sorted(used.secrets), files: sorted(used.files) },
  };
}

const FORMS: Readonly<Record<Scheme, string>> = { env: "${VAR}", secret: "${secret:NAME}", file: "${file:NAME}" };

const allowedForms = (schemes: readonly Scheme[]): string =>
  schemes.length === 0
    ? "which holds no references"
    : `only ${enumerated(
        schemes.map((scheme) => FORMS[scheme]),
        "and",
      )}`;

/**
 * `message` without what references resolved to; the reference as written stands there instead. For messages made by
 * others than this folder's explanations, which never hold such a value in the first place.
 */
export function withoutValues(message: string, resolved: ReadonlyMap<string, string>): string {
  let text = message;
  for (const [value, reference] of resolved) {
    if (value.length < SHORTEST_HIDDEN) continue;
    const escaped = JSON.stringify(value).slice(1, -1);
    const cut = value.slice(0, SHOWN_LENGTH);
    for (const form of [escaped, value, JSON.stringify(cut).slice(1, -1), cut])
      text = text.replaceAll(form, () => reference);
  }
  return text;
}

/** Shorter values are words and numbers such as `on` or `8080`, which would be found in the sentence itself. */
const SHORTEST_HIDDEN = 6;

const NOT_A_REFERENCE =
  "`${` begins no reference here; a reference is `${VAR}`, `${secret:NAME}` or `${file:NAME}`, and `$${` is a literal `${`";
