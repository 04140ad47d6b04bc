/**
 * References in string values: `${VAR}`, `${secret:NAME}`, `${file:NAME}`, and `$${` for a literal `${`.
 *
 * Source: spec document 2, loading rules 3 and 4; design decisions, section 6 (where references resolve). They may be part of a
 * longer text. A value is inserted unchanged and not searched for further references. The total expansion of a document is
 * limited, so that a small document cannot insert a large secret many thousand times.
 *
 * Documents are shown as written: each value is stored together with its form before expansion.
 */

import { enumerated, type Path } from "../problem.ts";
import type { JsonSchema } from "../schema/schema.ts";
import { schemaBelow } from "../schema/schema-below.ts";
import type { Tree } from "../yaml/located-tree.ts";
import { credentialDoubt, isSentValue, trimmedValue, valueProblem } from "./credential-values.ts";

export type Lookup =
  | { readonly kind: "value"; readonly value: string }
  /** `message` is the reason, without the value. */
  | { readonly kind: "problem"; readonly message: string };

/** Values of references on this node, passed in because the core reads neither environment nor files. */
export interface References {
  readonly env: (name: string) => string | undefined;
  readonly secret: (name: string) => Lookup;
  readonly file: (name: string) => Lookup;
  /** Variables that the node file refers to. A document of the admin API may read neither these nor any `GATEWAY_…` variable. */
  readonly ofNodeFile?: ReadonlySet<string>;
}

/** Names of requested references, including unresolved ones: a watcher waits for them to appear. */
export interface Used {
  readonly environment: readonly string[];
  readonly secrets: readonly string[];
  readonly files: readonly string[];
}

export interface ReferenceRules {
  /** True in the deployment document, the only one that allows `${file:NAME}`. */
  readonly fileAllowed: boolean;
  /** True for a document that consists only of facts and allows no references. */
  readonly noneAllowed?: boolean;
  /** Returns whether a variable is withheld from the author of the text at the offset; by default none is. */
  readonly isWithheld?: (variable: string, at: number) => boolean;
}

type Scheme = "env" | "secret" | "file";

interface Expanded {
  /** New value that the caller may change; refused parts are `null`. */
  readonly value: unknown;
  /** Same as `value`, with references as written. It shares no object with `value`. */
  readonly asWritten: unknown;
  /** Strings with references, by `pathKey`. */
  readonly written: ReadonlyMap<string, Written>;
  /** References as written, by resolved value, so that values can be removed from a message. */
  readonly resolved: ReadonlyMap<string, string>;
  readonly used: Used;
}

export interface Written {
  readonly references: readonly string[];
  /** True if all references were resolved. */
  readonly isResolved: boolean;
  /** Text as in the document. */
  readonly text: string;
  /** Value after expansion. */
  readonly value: string;
}

type Report = (path: Path, message: string, severity?: "warning") => void;

export const MAX_EXPANDED_LENGTH = 16 * 1024 * 1024;

const TOKEN = /\$\$\{|\$\{([^{}]*)\}|\$\{/g;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
/** Matches one file name without separators, which cannot leave the directory. */
const FILE_NAME = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,255}$/;

/** Returns a key for a path. Unlike the displayed path, it distinguishes a key with a dot from two keys. */
export const pathKey = (path: Path): string => path.map(String).join("\u0000");

/** Expands references. `schema` defines which references a text may contain. */
export function expand(
  tree: Tree,
  schema: JsonSchema,
  references: References,
  rules: ReferenceRules,
  report: Report,
): Expanded {
  const written = new Map<string, Written>();
  const resolved = new Map<string, string>();
  const schemes: readonly Scheme[] =
    rules.noneAllowed === true ? [] : rules.fileAllowed ? ["env", "secret", "file"] : ["env", "secret"];
  const used: UsedNames = { environment: new Set(), secrets: new Set(), files: new Set() };
  const terms = { schemes, references, rules, used };
  let length = 0;

  const expandText = (text: string, path: Path, here: Here): string => {
    if (!text.includes("${")) return text;
    const found: string[] = [];
    const reported = new Set<string>();
    const refuse = (message: string): undefined => {
      if (!reported.has(message)) report(path, message);
      reported.add(message);
    };
    let isResolved = true;
    const result = text.replace(TOKEN, (token: string, inner: string | undefined) => {
      if (token === "$${") return "${";
      if (inner === undefined) refuse(NOT_A_REFERENCE);
      const value =
        inner === undefined || length > MAX_EXPANDED_LENGTH ? undefined : resolve(inner, here, terms, refuse);
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
    if (found.length > 0 || !isResolved) {
      written.set(pathKey(path), { references: [...new Set(found)], isResolved, text, value: result });
      if (isResolved) resolved.set(result, text);
    }
    return result;
  };

  const sentValue = (text: string, at: JsonSchema, path: Path): string => {
    const value = trimmedValue(text);
    const wrong = valueProblem(value, at);
    if (wrong !== undefined) report(path, wrong);
    const doubt = credentialDoubt(value, at);
    if (doubt !== undefined) report(path, doubt, "warning");
    const entry = written.get(pathKey(path));
    if (value !== text && entry?.isResolved === true) {
      written.set(pathKey(path), { ...entry, value });
      resolved.set(value, entry.text);
    }
    return value;
  };

  const toValue = (node: Tree, at: JsonSchema, path: Path): unknown => {
    const below = (inner: Tree, step: string | number) => toValue(inner, schemaBelow(at, step), [...path, step]);
    if (node.kind === "refused") return null;
    if (node.kind === "list") return node.items.map(below);
    if (node.kind === "map") {
      const members = [...node.entries].map(([key, entry]) => [key, below(entry.value, key)] as const);
      return Object.fromEntries(members.filter(([key, value]) => value !== "" || !meansAbsent(schemaBelow(at, key))));
    }
    if (typeof node.value !== "string") return node.value;
    const text = expandText(node.value, path, { allowed: schemesIn(at), at: node.at });
    return isSentValue(at) ? sentValue(text, at, path) : text;
  };

  const value = toValue(tree, schema, []);
  const sorted = (names: ReadonlySet<string>) => [...names].sort();
  return {
    value,
    asWritten: asWritten(value, written),
    written,
    resolved,
    used: { environment: sorted(used.environment), secrets: sorted(used.secrets), files: sorted(used.files) },
  };
}

/** Position of a text, and the references that are allowed there. */
interface Here {
  readonly allowed: readonly Scheme[];
  readonly at: number;
}

type UsedNames = Readonly<Record<"environment" | "secrets" | "files", Set<string>>>;

interface Terms {
  /** Schemes that the document may use anywhere. */
  readonly schemes: readonly Scheme[];
  readonly references: References;
  readonly rules: ReferenceRules;
  /** Collects the names that are looked up. */
  readonly used: UsedNames;
}

/** Returns the value of the reference `${inner}`. `refuse` reports why there is none. */
function resolve(
  inner: string,
  { allowed, at }: Here,
  { schemes, references, rules, used }: Terms,
  refuse: (message: string) => undefined,
): string | undefined {
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
  if (allowed.length === 0) {
    return refuse(`${reference} cannot be used here, since a name must be the same on every node`);
  }
  if (!allowed.includes(scheme)) return refuse(`${reference} cannot be used here, ${allowedForms(allowed)}`);
  if (scheme === "env" && rules.isWithheld?.(name, at) === true) return refuse(`${reference} ${WITHHELD}`);
  if (scheme === "env") {
    used.environment.add(name);
    return references.env(name) ?? refuse(`environment variable \`${name}\` is not set`);
  }
  (scheme === "secret" ? used.secrets : used.files).add(name);
  const found = scheme === "secret" ? references.secret(name) : references.file(name);
  return found.kind === "value" ? found.value : refuse(`${reference}: ${found.message}`);
}

const meansAbsent = (schema: JsonSchema): boolean => schema["x-empty"] === true;

function schemesIn(schema: JsonSchema): readonly Scheme[] {
  const mark = schema["x-references"];
  if (mark === "none") return [];
  return mark === "any" || mark === "header" || schema["x-secret"] !== undefined ? ["env", "secret", "file"] : ["env"];
}

/** Returns the value with references as written; the same object if nothing in it came from a reference. */
function asWritten(value: unknown, written: ReadonlyMap<string, Written>, path: Path = []): unknown {
  if (written.size === 0) return value;
  if (typeof value === "string") return written.get(pathKey(path))?.text ?? value;
  if (Array.isArray(value)) return value.map((item, index) => asWritten(item, written, [...path, index]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, asWritten(item, written, [...path, key])]),
  );
}

export const isOwnVariable = (name: string, { ofNodeFile }: References): boolean =>
  name.startsWith("GATEWAY_") || ofNodeFile?.has(name) === true;

const WITHHELD =
  "cannot be used in a document of the admin API: variables that begin with `GATEWAY_`, or that the node file uses, belong to the node";

const FORMS: Readonly<Record<Scheme, string>> = { env: "${VAR}", secret: "${secret:NAME}", file: "${file:NAME}" };

const allowedForms = (schemes: readonly Scheme[]): string =>
  schemes.length === 0
    ? "in which no references are allowed"
    : `only ${enumerated(
        schemes.map((scheme) => FORMS[scheme]),
        "and",
      )}`;

const NOT_A_REFERENCE =
  "`${` begins no reference here; a reference is `${VAR}`, `${secret:NAME}` or `${file:NAME}`, and `$${` is a literal `${`";
