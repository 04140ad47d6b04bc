/** Pages of the node file and the deployment document, from their JSON Schemas: every key with its type, default and example. */

import { stringify } from "yaml";
import { deploymentJsonSchema, type JsonSchema, nodeFileJsonSchema } from "../../../src/server/core/config/index.ts";
import { anchor, code, fence, type Page, prose, table } from "./page.ts";

const recordIn = (value: unknown): Readonly<Record<string, JsonSchema>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, JsonSchema>) : {};

/** An object with keys, and its path. */
interface Section {
  readonly path: string;
  readonly schema: JsonSchema;
  readonly description: string;
}

/** Returns the object that a key holds: itself, the items of a list, or the values of a map. */
function objectIn(
  schema: JsonSchema,
  path: string,
): { readonly path: string; readonly schema: JsonSchema } | undefined {
  if (schema["properties"] !== undefined) return { path, schema };
  const items = recordIn(schema["items"]) as JsonSchema;
  if (items["properties"] !== undefined) return { path: `${path}[]`, schema: items };
  const values = recordIn(schema["additionalProperties"]) as JsonSchema;
  return values["properties"] === undefined ? undefined : { path: `${path}.NAME`, schema: values };
}

function sectionsIn(schema: JsonSchema, path: string, description: string): readonly Section[] {
  const prefix = path === "" ? "" : `${path}.`;
  const below = Object.entries(recordIn(schema["properties"])).flatMap(([key, value]) => {
    const found = objectIn(value, `${prefix}${key}`);
    return found === undefined ? [] : sectionsIn(found.schema, found.path, String(value["description"]));
  });
  return [{ path, schema, description }, ...below];
}

/** Returns the id of a key or section, such as `providers-retry-attempts`. */
const keyId = (path: string): string => path.replaceAll("[]", "").replaceAll(".", "-").toLowerCase();

function typeOf(schema: JsonSchema): string {
  const items = recordIn(schema["items"]) as JsonSchema;
  const values = recordIn(schema["additionalProperties"]) as JsonSchema;
  switch (typeIn(schema)) {
    case "array":
      return `list of ${plural(typeIn(items))}`;
    case "object":
      return values["type"] === undefined ? "object" : `map of ${plural(values["type"])}`;
    case undefined:
      return "any value";
    default:
      return wordOf(typeIn(schema));
  }
}

/** Returns the type; the first one of a choice that may also be written as a number, which states a type in each branch. */
function typeIn(schema: JsonSchema): unknown {
  const [first] = (schema["anyOf"] ?? []) as readonly JsonSchema[];
  return schema["type"] ?? first?.["type"];
}

const wordOf = (type: unknown): string => String(Array.isArray(type) ? type[0] : type);

const plural = (type: unknown): string => (type === undefined ? "any values" : `${wordOf(type)}s`);

/** Returns limits in words for people. */
function limitsOf(schema: JsonSchema): readonly string[] {
  const written = (recordIn((schema["anyOf"] as readonly JsonSchema[] | undefined)?.[0]) as JsonSchema) ?? {};
  const choices = choicesIn(schema) ?? choicesIn(recordIn(schema["items"]) as JsonSchema);
  const words = [
    ["minimum", "at least"],
    ["exclusiveMinimum", "above"],
    ["maximum", "at most"],
    ["maxItems", "at most", "entries"],
  ].flatMap(([key = "", say, unit = ""]) => {
    const value = schema[key] ?? written[key];
    return value === undefined ? [] : [`${say} ${String(value)}${unit === "" ? "" : ` ${unit}`}`];
  });
  return [
    ...(choices === undefined ? [] : [`one of ${[...new Set(choices.map(code))].join(", ")}`]),
    ...words,
    ...(Number(schema["minItems"] ?? 0) > 0 ? ["not empty"] : []),
    ...(schema["uniqueItems"] === true ? ["without duplicates"] : []),
  ];
}

function choicesIn(schema: JsonSchema): readonly unknown[] | undefined {
  const [limited] = (schema["anyOf"] ?? []) as readonly JsonSchema[];
  return (schema["enum"] ?? limited?.["enum"]) as readonly unknown[] | undefined;
}

function defaultOf(schema: JsonSchema, isRequired: boolean): string {
  if (isRequired) return "required";
  return "default" in schema ? code(schema["default"]) : "";
}

/** Short values appear in the table, longer ones as the example of their section. */
const MAX_SHOWN = 60;

function examplesIn(schema: JsonSchema): string {
  const examples = (schema["examples"] ?? []) as readonly unknown[];
  const shown = examples
    .filter(
      (value) =>
        choicesIn(schema) === undefined && schema["type"] !== "boolean" && JSON.stringify(value).length <= MAX_SHOWN,
    )
    .slice(0, 2);
  return shown.length === 0 ? "" : ` Example: ${shown.map(code).join(", ")}.`;
}

function rowsOf({ path, schema }: Section): readonly (readonly string[])[] {
  const required = (schema["required"] ?? []) as readonly string[];
  return Object.entries(recordIn(schema["properties"])).map(([key, value]) => {
    const whole = path === "" ? key : `${path}.${key}`;
    const below = objectIn(value, whole);
    const limits = limitsOf(value);
    const type = [typeOf(value), ...limits].join(", ");
    const name = below === undefined ? `${anchor(keyId(whole))}${code(key)}` : `[${code(key)}](#${keyId(below.path)})`;
    const example = below === undefined ? examplesIn(value) : "";
    return [name, type, defaultOf(value, required.includes(key)), `${prose(String(value["description"]))}${example}`];
  });
}

/** Wraps an example in its parent keys, so that it can be pasted into a document. */
function wrapped(path: string, value: unknown): unknown {
  return path
    .split(".")
    .reverse()
    .reduce((inner, step) => (step.endsWith("[]") ? { [step.slice(0, -2)]: [inner] } : { [step]: inner }), value);
}

function exampleOf({ path, schema }: Section): string {
  const [example] = (schema["examples"] ?? []) as readonly unknown[];
  if (example === undefined) return "";
  const text = stringify(path === "" ? example : wrapped(path, example), { lineWidth: 0, flowCollectionPadding: true });
  // The parents of a nested section may need more keys.
  return `\n\n${fence(path.includes(".") ? "yaml fragment" : "yaml", text)}`;
}

const keysOf = (rule: JsonSchema): readonly string[] => ((rule["required"] ?? []) as readonly string[]).map(code);

/** Returns the schema's rules about several keys together, as sentences. */
function rulesOf(schema: JsonSchema): readonly string[] {
  const rules = ((schema["allOf"] ?? []) as readonly JsonSchema[]).flatMap((rule) => {
    const alternatives = ((rule["oneOf"] ?? []) as readonly JsonSchema[]).flatMap(keysOf);
    const excluded = keysOf(recordIn(rule["not"]) as JsonSchema);
    if (alternatives.length > 0) return [`Exactly one of ${alternatives.join(", ")} is required.`];
    return excluded.length > 0 ? [`${excluded.join(" and ")} exclude each other.`] : [];
  });
  const [together] = Object.entries(recordIn(schema["dependentRequired"]));
  const both =
    together === undefined
      ? []
      : [`${[together[0], ...(together[1] as unknown as string[])].map(code).join(" and ")} go together.`];
  return [...rules, ...both];
}

function sectionText(section: Section): string {
  const { path, schema, description } = section;
  const own = String(schema["description"] ?? "");
  const text = own === description || own === "" ? description : `${description} ${own}`;
  const level = path.includes(".") ? "###" : "##";
  const heading = path.replaceAll("[]", "");
  // A heading without a dot already has that id.
  const id = heading.includes(".") ? `${anchor(keyId(path))}\n\n` : "";
  const head = path === "" ? "" : `${id}${level} ${code(heading)}\n\n`;
  const rows = rowsOf(section);
  const whole = [prose(text), ...rulesOf(schema)].join(" ");
  return `${head}${whole}${exampleOf(section)}\n\n${table(["Key", "Type", "Default", "Description"], rows)}`;
}

function bodyOf(schema: JsonSchema, file: string, verb: string): string {
  const sections = sectionsIn(schema, "", String(schema["description"]));
  return `${sections.map(sectionText).join("\n\n")}\n\n## Use in an editor\n\nThe same schema as JSON is [${file}](schemas/${file}); \`${verb}\` prints that of your build. An editor with a\nYAML language server completes and checks a document whose first line names it:\n\n${fence("yaml", `# yaml-language-server: $schema=${file}`)}`;
}

/** Describes keys in general, before the tables. */
const READING =
  "A text may be a reference: `${VARIABLE}` is an environment variable, `${secret:NAME}` a secret. The `name` of an entry, numbers and booleans may not. A relative path is relative to the folder of the node file.";

export const SCHEMA_FILES = {
  "node-file.schema.json": nodeFileJsonSchema,
  "deployment.schema.json": deploymentJsonSchema,
} as const;

export const schemaPages = (): readonly Page[] => [
  {
    path: "node-file.md",
    title: "Node file",
    order: 1,
    about: "Every key of the node file, which configures one process.",
    body: `${READING}\n\n${bodyOf(nodeFileJsonSchema(), "node-file.schema.json", "gateway schema node")}`,
  },
  {
    path: "deployment.md",
    title: "Deployment document",
    order: 2,
    about: "Every key of the deployment document, on which all nodes agree.",
    body: `${READING}\n\n${bodyOf(deploymentJsonSchema(), "deployment.schema.json", "gateway schema deployment")}`,
  },
];

/** Paths of keys without a description, a type or an example. */
export function undocumentedKeys(schema: JsonSchema): readonly string[] {
  return sectionsIn(schema, "", "").flatMap(({ path, schema: section }) =>
    Object.entries(recordIn(section["properties"])).flatMap(([key, value]) => {
      const isComplete =
        typeof value["description"] === "string" &&
        value["description"] !== "" &&
        Array.isArray(value["examples"]) &&
        value["examples"].length > 0;
      return isComplete ? [] : [path === "" ? key : `${path}.${key}`];
    }),
  );
}
